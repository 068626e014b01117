import assert from "node:assert/strict";
import { test } from "node:test";
import type { EtcdClusterSpecInput } from "../api/etcd-cluster-spec.ts";
import { decide } from "./decide.ts";
import { describeStep, plan } from "./plan.ts";
import { predict } from "./predict.ts";
import { edit, exited, healthy } from "./testing/cluster.ts";

const MEMORY: Partial<EtcdClusterSpecInput> = { storage: { medium: "Memory" } };

test("where a restart loses data every rollout is a surge swap: nobody stops before etcd has let it go (H4)", () => {
  for (const [replicas, from, change] of [
    [3, "3.6.14", { version: "3.6.16" }],
    [1, "3.6.16", { version: "3.7.3" }],
    [3, "3.5.35", { version: "3.7.3" }],
    [3, "3.7.3", { version: "3.6.16" }],
    [1, "3.6.16", { options: { snapshotCount: 5000 } }],
    [1, "3.6.16", { storage: { medium: "Persistent" } }],
  ] as const) {
    const { steps, end } = plan(edit(healthy({ ...MEMORY, replicas, version: from }), change));
    const told = steps.map(describeStep);
    assert.ok(end.converged, told.join("\n"));
    for (const step of told.filter((text) => text.startsWith("stop workload "))) {
      const name = step.slice("stop workload ".length);
      const removed = told.indexOf(`remove from etcd ${name}`);
      assert.ok(removed >= 0 && removed < told.indexOf(step), told.join("\n"));
      assert.ok(told.slice(0, removed).some((text) => text.startsWith("promote ")));
    }
  }
});

test("a newcomer that cannot run the target is put back, having nothing to lose yet (H4)", () => {
  let world = edit(healthy({ ...MEMORY, replicas: 1 }), { version: "3.7.3" });
  for (let i = 0; i < 20; i++) {
    const { act } = decide(world);
    assert.ok(act);
    world = predict(world, act.action);
    if (act.action.kind === "UpdateMember" && act.action.purpose === "permit-start") break;
  }
  world = exited(world, "demo-2", "bad-configuration", { restarts: 2 });
  const { steps, end } = plan(world);
  assert.deepEqual(steps.map(describeStep).slice(0, 4), [
    "mark target-failed",
    "revert demo-2",
    "latch-joined demo-2",
    "promote demo-2",
  ]);
  assert.ok(!end.converged);
  assert.equal(end.holds[0]?.reason, "TargetFailed");
});
