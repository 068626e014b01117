/** The real operator on the model API server, with an etcd of the model in every Pod. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { endStateOf, staysQuiet, wrongWith } from "./judge.ts";
import { NAMESPACE } from "./environment.ts";
import { OperatorSimulation } from "./simulation.ts";

const THREE = { replicas: 3, version: "3.6.16" } as const;

async function rests(sim: OperatorSimulation): Promise<void> {
  await sim.settle();
  assert.equal(sim.converged, true, sim.whyNot());
  assert.deepEqual(wrongWith(sim), []);
  assert.deepEqual(sim.troubles, []);
}

async function life(seed: number): Promise<string> {
  const sim = new OperatorSimulation(THREE, { seed });
  await sim.settle();
  sim.edit({ version: "3.7.3" });
  await sim.settle();
  return sim.lines.join("\n");
}

test("the same seed gives the same run of the operator, to the byte", async () => {
  const [first, second, other] = [await life(3), await life(3), await life(4)];
  assert.equal(first, second);
  assert.notEqual(first, other);
});

test("three members are created, and then nothing is written (I7) while clients write", async () => {
  const sim = new OperatorSimulation(THREE, { seed: 1 });
  await rests(sim);
  assert.deepEqual(endStateOf(sim), {
    objects: {
      etcdmembers: 3,
      pods: 3,
      persistentvolumeclaims: 3,
      secrets: 7,
      services: 6,
      poddisruptionbudgets: 1,
    },
    voters: 3,
    learners: 0,
    versions: ["3.6.16"],
    clusterVersion: "3.6",
    alarms: 0,
    reported: [],
  });
  await staysQuiet(sim, 300_000);
  assert.ok(sim.env.ledger.acknowledged > 250);
});

test("a cluster grows, shrinks, is upgraded, sleeps and wakes, and loses no write (I10)", async () => {
  const sim = new OperatorSimulation({ replicas: 1, version: "3.5.35" }, { seed: 2 });
  await rests(sim);
  for (const change of [
    { replicas: 3 },
    { replicas: 5 },
    { version: "3.6.16" },
    { replicas: 1 },
    { replicas: 0 },
    { replicas: 3 },
    { version: "3.7.3" },
  ]) {
    assert.equal(sim.edit(change), true);
    await rests(sim);
  }
  await staysQuiet(sim);
  assert.equal(sim.deaths.length, 0);
});

test("a record whose creation neither an answer nor a watch told of is asked for twice, not on every pass", async () => {
  const before = new OperatorSimulation(THREE, { seed: 1 });
  await rests(before);
  const isCreation = (name: string) => name.startsWith("POST etcdmembers demo-1");
  const effects = new Map([[before.effects.names.findIndex(isCreation) + 1, "unseen" as const]]);
  const sim = new OperatorSimulation(THREE, { seed: 1, effects });
  await sim.settle();
  assert.equal(sim.effects.names.filter(isCreation).length, 2);
  assert.equal(sim.converged, true, sim.whyNot());
});

test("a Pod that is deleted comes back as the same member on the same volume", async () => {
  const sim = new OperatorSimulation(THREE, { seed: 3 });
  await rests(sim);
  const id = sim.env.pods.server("demo-2")?.id;
  sim.harm();
  sim.user({ method: "DELETE", path: `/api/v1/namespaces/${NAMESPACE}/pods/demo-2` });
  await rests(sim);
  assert.equal(sim.env.pods.server("demo-2")?.id, id);
});

test("a cluster that is deleted takes everything but its volumes with it", async () => {
  const sim = new OperatorSimulation(THREE, { seed: 4 });
  await rests(sim);
  sim.deleteCluster();
  await sim.settle();
  assert.equal(sim.isGone, true);
  await sim.pass(60_000);
  const { etcdmembers, pods, secrets, services } = endStateOf(sim).objects;
  assert.deepEqual(
    { etcdmembers, pods, secrets, services },
    { etcdmembers: 0, pods: 0, secrets: 0, services: 0 },
  );
  assert.equal(sim.env.diskOf("demo-1") === undefined, false);
});
