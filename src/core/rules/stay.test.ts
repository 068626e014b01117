import assert from "node:assert/strict";
import { test } from "node:test";
import { decide } from "../decide.ts";
import type { Observation } from "../observation.ts";
import { predict } from "../plan/predict.ts";
import { change, edit, healthy, record, run } from "../testing/cluster.ts";
import { says } from "../testing/says.ts";
import { stay } from "./stay.ts";

/** demo-3 retires for another class of volume, and the newcomer waits for one that never comes. */
function stuckSwap(): Observation {
  let world = edit(healthy(), { storage: { className: "no-such" } });
  for (let i = 0; i < 10 && world.members.length < 4; i++) world = predict(world, decide(world).act!.action);
  world = change(world, "demo-4", { volume: { state: "pending", reason: "no such class", uid: "c-4" } });
  assert.ok(world.members.some(({ record }) => record.name === "demo-3" && record.retiring));
  return world;
}

test("a member that was to be replaced stays when the edit is taken back, and the newcomer goes with its claim", () => {
  const world = edit(stuckSwap(), { storage: {} });
  const { act } = decide(world);
  assert.deepEqual([act?.rule, act?.action.kind], ["stay", "UpdateMember"]);
  const end = run(world);
  assert.deepEqual(
    end.members.map(({ record }) => [record.name, record.retiring]),
    ["demo-1", "demo-2", "demo-3"].map((name) => [name, undefined]),
  );
});

test("who was deleted by hand, or has outgrown its volume, is replaced all the same", () => {
  const world = edit(stuckSwap(), { storage: {} });
  const byHand = change(world, "demo-3", { deleting: true });
  assert.notEqual(decide(byHand).act?.rule, "stay");
  const small = change(world, "demo-3", ({ volume }) => ({
    volume: volume.state === "ready" ? { ...volume, tooSmall: "20Gi are asked for" } : volume,
  }));
  assert.notEqual(decide(small).act?.rule, "stay");
});

const three = healthy();
const retiring = { reason: "it is old" };

test("of several that may stay after all, the oldest is reported first", () => {
  const both = record(record(three, "demo-2", { retiring }), "demo-3", { retiring });
  assert.deepEqual(says(stay, both), ["revert: stay demo-2"]);
});

test("a replacement that a person asked for is not withdrawn", () => {
  const requested = record(healthy(), "demo-2", { retiring: { reason: "asked for", requested: true } });
  assert.deepEqual(says(stay, requested), []);
  const edited = record(healthy(), "demo-2", { retiring: { reason: "another volume" } });
  assert.deepEqual(says(stay, edited), ["revert: stay demo-2"]);
});
