/** Members that somebody adds to etcd past the operator: told in the status, and left alone. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { wrongWith } from "./judge.ts";
import { OperatorSimulation } from "./simulation.ts";

const voterOf = ({ env }: OperatorSimulation) => {
  const voter = env.world.network.all().find((one) => one.serving && one.runs && !one.isLearner);
  assert.ok(voter);
  return voter;
};
const conditionOf = (sim: OperatorSimulation, wanted: string) =>
  sim.cluster?.status?.conditions?.find(({ type }) => type === wanted);

for (const isLearner of [true, false]) {
  const what = isLearner ? "learner" : "voter that never started";
  test(`a foreign ${what} is reported in conditions, phase and message as long as it is there, and left alone (I9)`, async () => {
    const sim = new OperatorSimulation({ replicas: 3, version: "3.6.16" }, { seed: 1 });
    await sim.settle();
    const { steps } = sim;
    const { id } = sim.env.calls.memberAdd(voterOf(sim), ["https://elsewhere:2380"], isLearner);
    await sim.pass(30_000);
    const degraded = conditionOf(sim, "Degraded");
    assert.deepEqual([degraded?.status, degraded?.reason], ["True", "ForeignMember"]);
    assert.ok(degraded?.message.includes(id));
    assert.equal(degraded?.message.includes("none may fail now"), !isLearner);
    assert.equal(sim.cluster?.status?.phase, "Stalled");
    assert.match(sim.cluster?.status?.message ?? "", /^etcd lists .* did not add/);
    assert.deepEqual(conditionOf(sim, "Ready")?.status, "False");
    assert.equal(sim.steps, steps, "nothing was done about it");
    sim.env.calls.memberRemove(voterOf(sim), id);
    await sim.settle();
    assert.deepEqual(wrongWith(sim), []);
    assert.equal(sim.cluster?.status?.phase, "Healthy");
  });
}

test("on 3.5 growth waits for a foreign learner by its name, and goes on when it is gone", async () => {
  const sim = new OperatorSimulation({ replicas: 3, version: "3.5.35" }, { seed: 1 });
  await sim.settle();
  const { id } = sim.env.calls.memberAdd(voterOf(sim), ["https://elsewhere:2380"], true);
  sim.edit({ replicas: 5 });
  await sim.pass(60_000);
  const ready = conditionOf(sim, "Ready");
  assert.equal(ready?.reason, "ForeignMember");
  assert.match(ready?.message ?? "", new RegExp(`demo-4 cannot join: .*${id}.*the last place for learners`));
  sim.env.calls.memberRemove(voterOf(sim), id);
  await sim.settle();
  assert.deepEqual(wrongWith(sim), []);
});

test("peers do not begin to listen with TLS while a foreign member listens in plaintext, before a person approves", async () => {
  const plain = { peer: { mode: "Disabled" } } as const;
  const sim = new OperatorSimulation({ replicas: 3, version: "3.6.16", tls: plain }, { seed: 2 });
  await sim.settle();
  const { id } = sim.env.calls.memberAdd(voterOf(sim), ["http://elsewhere:2380"], true);
  const listening = () => {
    const servers = sim.env.world.network.all().filter(({ runs }) => runs);
    return [
      ...new Set(servers.flatMap(({ config }) => config.listenPeerURLs.map((url) => new URL(url).protocol))),
    ];
  };
  assert.ok(sim.edit({ tls: { peer: { mode: "Managed" } } }));
  await sim.pass(120_000);
  assert.deepEqual(listening(), ["http:"], "it would be cut off");
  const { holds = [] } = sim.latest?.decision ?? {};
  assert.ok(holds.some(({ code, message }) => code === "PeersAwaitForeign" && message.includes(id)));
  sim.env.calls.memberRemove(voterOf(sim), id);
  await sim.settle();
  assert.deepEqual(listening(), ["https:"]);
  assert.deepEqual(wrongWith(sim), []);
});
