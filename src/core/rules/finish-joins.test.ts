import assert from "node:assert/strict";
import { test } from "node:test";
import { decide } from "../decide.ts";
import type { Observation } from "../observation.ts";
import { predict } from "../predict.ts";
import { change, edit, exited, healthy, run } from "../testing/cluster.ts";

function passes(observation: Observation, count: number): Observation {
  let world = observation;
  for (let i = 0; i < count; i++) world = predict(world, decide(world).act!.action);
  return world;
}

test("a crash after etcd was told goes on by matching the peer URL (H10)", () => {
  const world = passes(edit(healthy(), { replicas: 4 }), 2);
  assert.equal(world.members.at(-1)?.record.memberID, undefined);
  const { act } = decide(world);
  assert.equal(act?.action.kind === "UpdateMember" && act.action.change.memberID, "id-of-demo-4");
});

test("the list a joiner starts with is etcd's, with names for those that have not started", () => {
  const { act } = decide(passes(edit(healthy(), { replicas: 5 }), 5));
  assert.ok(act?.action.kind === "UpdateMember" && act.action.purpose === "permit-start");
  assert.deepEqual(
    act.action.change.initialCluster?.map((peer) => peer.name),
    ["demo-1", "demo-2", "demo-3", "demo-4", "demo-5"],
  );
});

test("a joiner whose list went stale before it started gets a new one (H7)", () => {
  let world = passes(edit(healthy(), { replicas: 4 }), 2);
  const { act } = decide(world);
  assert.ok(act?.action.kind === "UpdateMember");
  const { change: start } = act.action;
  // It was permitted with a list from before another member was removed, and exits with the mismatch.
  const stale = [...(start.initialCluster ?? []), { name: "gone", peerURL: "https://gone:2380" }];
  world = change(world, "demo-4", ({ record }) => ({
    record: { ...record, ...start, initialCluster: stale },
    workload: {
      state: "exited",
      since: world.now,
      restarts: 1,
      cause: "member-list-mismatch",
      detail: "",
      startedFrom: "old",
    },
  }));
  const next = decide(world);
  assert.equal(next.act?.action.kind === "UpdateMember" && next.act.action.purpose, "rebuild-list");
  assert.equal(run(world).members.length, 4);
});

test("nobody is added while a voter is down (R19)", () => {
  const world = exited(passes(edit(healthy(), { replicas: 4 }), 1), "demo-2");
  const { act, holds } = decide(world);
  assert.equal(act, undefined);
  assert.ok(holds.some((hold) => hold.message.includes("demo-4 can join once demo-2")));
});

test("below 3.6 a second learner waits for the first, whoever recorded it (H1)", () => {
  const world = passes(edit(healthy({ version: "3.5.35" }), { replicas: 4 }), 2);
  const [joiner] = world.members.slice(-1);
  assert.ok(joiner && world.etcd.list?.members.some((entry) => entry.isLearner));
  const address = world.platform.offers.at(-1)?.address ?? joiner.record.address;
  const second = { ...joiner, record: { ...joiner.record, name: "demo-5", ordinal: 5, address } };
  const { act, holds } = decide({ ...world, members: [...world.members, second] });
  assert.notEqual(act?.action.kind, "AddLearner");
  assert.ok(holds.some((hold) => hold.message.startsWith("demo-5 joins once the present learner")));
});
