import assert from "node:assert/strict";
import { test } from "node:test";
import { decide } from "../decide.ts";
import type { Observation } from "../observation.ts";
import { change, exited, healthy, leaderOf, run } from "../testing/cluster.ts";

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
