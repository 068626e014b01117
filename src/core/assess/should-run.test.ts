/** Whose workload has to be there. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { MemberFacts, Observation } from "../observation.ts";
import { change, exited, healthy } from "../testing/cluster.ts";
import { shouldRun } from "./should-run.ts";

const leaving = { reason: "it has been down for 600 s", volume: "Delete" as const };

function runs(o: Observation, name: string): boolean {
  const member = o.members.find(({ record: candidate }) => candidate.name === name);
  assert.ok(member);
  return shouldRun(o, member);
}

function record(o: Observation, name: string, more: Partial<MemberFacts["record"]>): Observation {
  return change(o, name, (facts) => ({ record: { ...facts.record, ...more } }));
}

test("a member runs on the volume that its record names, and on no other (I4)", () => {
  const world = healthy();
  assert.ok(runs(world, "demo-2"));
  assert.ok(!runs(change(world, "demo-2", { volume: { state: "ready", uid: "another" } }), "demo-2"));
  assert.ok(!runs(change(world, "demo-2", { volume: { state: "absent" } }), "demo-2"));
  assert.ok(!runs(record(world, "demo-2", { volumeUID: undefined }), "demo-2"));
  assert.ok(!runs(record(world, "demo-2", { run: false }), "demo-2"));
});

test("who leaves runs until etcd has let it go", () => {
  const world = record(healthy(), "demo-2", { leaving });
  assert.ok(runs(world, "demo-2"));
  const { list } = world.etcd;
  assert.ok(list);
  const without = { ...list, members: list.members.filter((entry) => entry.name !== "demo-2") };
  assert.ok(!runs({ ...world, etcd: { ...world.etcd, list: without } }, "demo-2"));
  const unsure = { ...without, linearizable: false };
  assert.ok(
    runs({ ...world, etcd: { ...world.etcd, list: unsure } }, "demo-2"),
    "an old list proves nothing",
  );
  assert.ok(!runs(record(world, "demo-2", { token: "of-a-former-life" }), "demo-2"));
});

test("so does a founder that has never started: with another lost, its vote makes the quorum", () => {
  const late = record(healthy(), "demo-3", { joined: false, memberID: undefined, leaving });
  assert.ok(runs(exited(late, "demo-1", "data-missing"), "demo-3"));
});

test("a joiner that leaves before it has joined is not started: it has no vote", () => {
  const world = record(healthy(), "demo-3", { boot: "Join", joined: false, leaving });
  assert.ok(!runs(world, "demo-3"));
});
