import assert from "node:assert/strict";
import { test } from "node:test";
import type { EtcdClusterSpecInput } from "../../api/etcd-cluster-spec.ts";
import { decide } from "../decide.ts";
import type { Observation } from "../observation.ts";
import { describeStep, plan } from "../plan/plan.ts";
import { change, exited, healthy, NOW } from "../testing/cluster.ts";

const MIB = 1024 ** 2;

function fragmented(dbSize: number, inUse: number, input: Partial<EtcdClusterSpecInput> = {}): Observation {
  const world = healthy(input);
  return {
    ...world,
    members: world.members.map((facts) => ({
      ...facts,
      answer: facts.answer.reachable ? { ...facts.answer, dbSize, dbSizeInUse: inUse } : facts.answer,
    })),
  };
}

test("one at a time, the leader last (R29)", () => {
  assert.deepEqual(plan(fragmented(400 * MIB, 100 * MIB)).steps.map(describeStep), [
    "defragment demo-2",
    "defragment demo-3",
    "defragment demo-1",
  ]);
});

test("both thresholds must be exceeded", () => {
  assert.ok(decide(fragmented(150 * MIB, 60 * MIB)).converged);
  assert.ok(decide(fragmented(1000 * MIB, 700 * MIB)).converged);
});

test("never while a member is down", () => {
  assert.equal(decide(exited(fragmented(400 * MIB, 100 * MIB), "demo-2")).act, undefined);
});

test("a learner that cannot be defragmented is made anew after the voters, once a day at most (H8)", () => {
  const world = fragmented(400 * MIB, 100 * MIB, { learners: 1 });
  const defragmentations = ["defragment demo-2", "defragment demo-3", "defragment demo-1"];
  assert.deepEqual(plan(world).steps.map(describeStep), defragmentations);
  const old = change(world, "demo-4", ({ record }) => ({
    record: { ...record, createdAt: NOW - 100_000_000 },
  }));
  const told = plan(old).steps.map(describeStep);
  assert.deepEqual(told.slice(0, 5), [...defragmentations, "leave demo-4", "remove from etcd demo-4"]);
  assert.ok(told.includes("add learner demo-5") && !told.includes("leave demo-5"));
});

test("a database far above its quota is left as it is: liveness would end the member half way (H12)", () => {
  const world = fragmented(7 * 1024 * MIB, 1024 * MIB, { options: { quotaBackendBytes: "1Gi" } });
  const { act, holds, converged } = decide(world);
  assert.equal(act, undefined);
  assert.ok(converged);
  assert.deepEqual(
    holds.map(({ reason }) => reason),
    ["TooLarge", "TooLarge", "TooLarge"],
  );
  const roomy = fragmented(7 * 1024 * MIB, 1024 * MIB, {
    options: { quotaBackendBytes: "8Gi" },
    storage: { size: "20Gi" },
  });
  assert.equal(decide(roomy).act?.action.kind, "Defragment");
});

test("outside the window it waits for the window, and the cluster is at rest", () => {
  const world = fragmented(400 * MIB, 100 * MIB, {
    maintenance: { defrag: { window: { start: "02:00", duration: "1h" } } },
  });
  const { act, converged, lookAgainAt } = decide(world);
  assert.equal(act, undefined);
  assert.ok(converged);
  assert.equal(new Date(lookAgainAt ?? 0).toISOString().slice(11, 16), "02:00");
});
