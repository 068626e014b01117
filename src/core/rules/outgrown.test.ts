import assert from "node:assert/strict";
import { test } from "node:test";
import { decide } from "../decide.ts";
import type { Observation } from "../observation.ts";
import { change, exited, healthy, leaderOf, record, run } from "../testing/cluster.ts";
import { says } from "../testing/says.ts";
import { outgrown } from "./outgrown.ts";

function tooSmall(observation: Observation, ...names: string[]): Observation {
  return names.reduce(
    (world, name) =>
      change(world, name, ({ volume }) => ({
        volume: volume.state === "ready" ? { ...volume, tooSmall: "its class does not grow" } : volume,
      })),
    observation,
  );
}

test("a volume that has to be larger and cannot grow: a newcomer takes its member's place", () => {
  const world = tooSmall(healthy(), "demo-2");
  const { act } = decide(world);
  assert.ok(act?.action.kind === "UpdateMember" && act.action.purpose === "retire");
  assert.equal(act.action.member, "demo-2");
  const after = run(world);
  assert.deepEqual(
    after.members.map(({ record }) => record.name),
    ["demo-1", "demo-3", "demo-4"],
  );
});

test("all of them move, one after another, the leader last", () => {
  const world = healthy();
  const { act } = decide(tooSmall(world, "demo-1", "demo-2", "demo-3"));
  assert.ok(act?.action.kind === "UpdateMember");
  assert.notEqual(act.action.member, leaderOf(world));
  const after = run(tooSmall(world, "demo-1", "demo-2", "demo-3"));
  assert.deepEqual(
    after.members.map(({ record }) => record.name),
    ["demo-4", "demo-5", "demo-6"],
  );
});

test("nobody moves while a member is not well", () => {
  const world = exited(tooSmall(healthy(), "demo-2"), "demo-3");
  assert.equal(decide(world).act, undefined);
});

const three = healthy();
const NAMES = ["demo-1", "demo-2", "demo-3"];
const retiring = { reason: "it is old" };

test("one at a time outgrows its volume, a follower first, and only while all are well", () => {
  const small = (o: Observation, name: string) =>
    change(o, name, ({ volume }) => ({
      volume: volume.state === "ready" ? { ...volume, tooSmall: "it cannot grow" } : volume,
    }));
  const all = NAMES.reduce(small, three);
  assert.deepEqual(says(outgrown, all), ["roll: retire demo-2"]);
  assert.deepEqual(says(outgrown, record(all, "demo-2", { retiring })), ["roll: retire demo-3"]);
  assert.deepEqual(says(outgrown, small(three, "demo-1")), ["roll: retire demo-1"]);
  assert.deepEqual(says(outgrown, exited(all, "demo-3")), []);
  assert.deepEqual(says(outgrown, three), []);
});
