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
