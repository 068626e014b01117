import assert from "node:assert/strict";
import { test } from "node:test";
import { decide } from "../decide.ts";
import { describeStep, plan } from "../plan/plan.ts";
import { change, edit, exited, healthy, leaderOf } from "../testing/cluster.ts";

test("out of etcd first, then the process, the volume, the record; and its name is remembered", () => {
  const world = edit(healthy(), { replicas: 2 });
  assert.deepEqual(plan(world).steps.map(describeStep), [
    "leave demo-3",
    "remove from etcd demo-3",
    "stop workload demo-3",
    "delete volume demo-3",
    "mark remember-member",
    "delete member demo-3",
  ]);
});

test("a leader that leaves hands over first (R20)", () => {
  const world = healthy();
  const name = leaderOf(world);
  const leaving = { reason: "it goes", volume: "Retain" as const };
  const { act } = decide(change(world, name, ({ record }) => ({ record: { ...record, leaving } })));
  assert.equal(act?.action.kind, "MoveLeader");
});

test("a record of another life that etcd counts is removed there before it is stopped (I1)", () => {
  const leaving = { reason: "it goes", volume: "Retain" as const };
  const world = change(healthy(), "demo-3", ({ record }) => ({
    record: { ...record, token: `${record.token}7`, leaving },
  }));
  assert.equal(decide(world).act?.action.kind, "RemoveFromEtcd");
});

test("a healthy member that has to stay does not keep a dead one from leaving, for which it may be waiting", () => {
  let world = healthy({ replicas: 3 });
  world = change(world, "demo-1", ({ record }) => ({
    record: { ...record, leaving: { reason: "new storage", volume: "Delete" } },
  }));
  world = change(exited(world, "demo-2", "data-missing"), "demo-2", ({ record }) => ({
    record: { ...record, leaving: { reason: "its data is gone", volume: "Delete", broken: true } },
  }));
  const { act, holds } = decide(world);
  assert.equal(act?.action.kind === "RemoveFromEtcd" && act.action.member, "demo-2");
  assert.equal(holds[0]?.reason, "RemovalUnsafe");
});

test("a volume that was put in the place of the member's own is left where it is (I9)", () => {
  const leaving = { reason: "it goes", volume: "Delete" as const };
  const world = change(edit(healthy(), { replicas: 2 }), "demo-3", ({ record }) => ({
    record: { ...record, leaving },
    volume: { state: "ready", uid: "restored-by-hand" },
  }));
  assert.ok(!plan(world).steps.some(({ action }) => action.kind === "DeleteVolume"));
});
