import assert from "node:assert/strict";
import { test } from "node:test";
import type { EtcdClusterSpecInput } from "../../api/etcd-cluster-spec.ts";
import { decide } from "../decide.ts";
import type { Observation } from "../observation.ts";
import { describeStep, plan } from "../plan.ts";
import { exited, healthy } from "../testing/cluster.ts";

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

test("outside the window it waits for the window, and the cluster is at rest", () => {
  const world = fragmented(400 * MIB, 100 * MIB, {
    maintenance: { defrag: { window: { start: "02:00", duration: "1h" } } },
  });
  const { act, converged, lookAgainAt } = decide(world);
  assert.equal(act, undefined);
  assert.ok(converged);
  assert.equal(new Date(lookAgainAt ?? 0).toISOString().slice(11, 16), "02:00");
});
