/** Any size from any size, by the spec and by the scale subresource, while an application writes, reads and watches. */
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { eventually } from "../../testbed/eventually.ts";
import type { TestTestbed } from "../../testbed/for-tests.ts";
import { PATHS } from "../support/kube-paths.ts";
import { ClusterOnBed, startOperator, upWithDefinitions, type Running } from "../support/operator.ts";
import { OperatorChecker } from "../support/operator-checker.ts";

let bed: TestTestbed;
let running: Running;
let cluster: ClusterOnBed;

before(async () => {
  bed = await upWithDefinitions();
  running = startOperator(bed);
  cluster = new ClusterOnBed(bed, "demo", running);
  await cluster.create({ replicas: 1 });
  await cluster.converged(1);
});

after(async () => {
  await cluster?.close();
  await running?.stop();
  await bed?.down();
});

test("1 → 3 → 5 → 3 → 1 under an application: nothing acknowledged is lost", async (t) => {
  await using checker = await OperatorChecker.start(cluster);
  for (const replicas of [3, 5, 3, 1]) {
    const began = Date.now();
    await cluster.edit({ replicas });
    await cluster.converged(replicas);
    t.diagnostic(`${replicas} members after ${Date.now() - began} ms`);
    const before = checker.acknowledged;
    await eventually("writes go on", () => checker.acknowledged > before);
    assert.equal((await cluster.members()).length, replicas);
  }
  const report = await checker.judged();
  t.diagnostic(`longest write gap ${Math.round(report.longestWriteGapMs)} ms`);
  await cluster.assertSound(1);
  assert.equal((await cluster.claims()).length, 1, "storage.retention.onScaleIn is Delete");
});

test("the scale subresource says how many there are, and changes it", async () => {
  const path = `${PATHS.clusters}/demo/scale`;
  const scale = await bed.client.get<{ status: { replicas: number; selector: string } }>(path);
  assert.equal(scale.status.replicas, 1);
  await bed.client.patch(path, { spec: { replicas: 3 } });
  await cluster.converged(3);
  const selected = await bed.client.get<{ items: unknown[] }>(
    `${PATHS.pods}?labelSelector=${encodeURIComponent(scale.status.selector)}`,
  );
  assert.equal(selected.items.length, 3);
});

test("standing learners join with a Service of their own, and leave with it", async () => {
  await cluster.edit({ learners: 1 });
  await eventually(
    "a learner is ready",
    async () => {
      const { members, conditions } = await cluster.status();
      const rests = conditions?.some(({ reason }) => reason === "Converged");
      return rests && members?.some(({ role, healthy }) => role === "Learner" && healthy);
    },
    { withinMs: 60_000 },
  );
  await bed.client.get(`${PATHS.services}/demo-learners`);
  await cluster.edit({ learners: 0 });
  await cluster.converged(3);
  await eventually("four members are three again", async () => (await cluster.members()).length === 3);
  await cluster.gone(`${PATHS.services}/demo-learners`);
});

test("hibernated at 0, every copy is kept; awake again, the data is there", async () => {
  const client = await cluster.etcd();
  await client.kv.put("kept", "yes", { timeoutMs: 5_000 });
  const before = (await cluster.members()).map(({ spec }) => spec.memberID);
  await cluster.edit({ replicas: 0 });
  await eventually("no Pod is left", async () => (await cluster.pods()).length === 0, { withinMs: 60_000 });
  await eventually(
    "hibernated",
    async () => (await cluster.condition("Progressing")) === "False/Hibernated",
    {
      withinMs: 60_000,
    },
  );
  assert.equal((await cluster.claims()).length, 3);
  await cluster.edit({ replicas: 3 });
  await cluster.converged(3);
  assert.deepEqual(
    (await cluster.members()).map(({ spec }) => spec.memberID),
    before,
  );
  const found = await (await cluster.etcd()).kv.range("kept", { timeoutMs: 5_000 });
  assert.equal(found.kvs.length, 1);
});
