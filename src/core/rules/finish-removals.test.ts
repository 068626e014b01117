import assert from "node:assert/strict";
import { test } from "node:test";
import { decide } from "../decide.ts";
import { describeStep, plan } from "../plan.ts";
import { change, edit, healthy, leaderOf } from "../testing/cluster.ts";

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
