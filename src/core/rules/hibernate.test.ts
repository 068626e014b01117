import assert from "node:assert/strict";
import { test } from "node:test";
import { decide } from "../decide.ts";
import type { Observation } from "../observation.ts";
import { change, edit, healthy, record, run } from "../testing/cluster.ts";
import { says } from "../testing/says.ts";
import { hibernate } from "./hibernate.ts";

test("hibernation keeps every volume and every record, and is rest", () => {
  const before = healthy();
  const asleep = run(edit(before, { replicas: 0 }));
  assert.deepEqual(
    asleep.members.map((f) => f.volume),
    before.members.map((f) => f.volume),
  );
  assert.ok(asleep.members.every((f) => f.workload.state === "absent"));
  const { act, converged, holds } = decide(asleep);
  assert.ok(!act && converged);
  assert.equal(holds[0]?.reason, "Hibernated");
});

test("waking brings back the same members with the same IDs, then scales (H5)", () => {
  const before = healthy();
  const awake = run(edit(run(edit(before, { replicas: 0 })), { replicas: 3 }));
  assert.deepEqual(
    awake.members.map((f) => f.record.memberID),
    before.members.map((f) => f.record.memberID),
  );
});

test("waking at another version wakes first and rolls after (H5)", () => {
  const asleep = run(edit(healthy({ version: "3.5.35" }), { replicas: 0 }));
  const waking = edit(asleep, { replicas: 3, version: "3.7.3" });
  assert.equal(decide(waking).act?.action.kind === "UpdateMember" && "wake", "wake");
  const end = run(waking);
  assert.ok(end.members.every((f) => f.record.template.version === "3.7.3"));
});

const three = healthy();
const NAMES = ["demo-1", "demo-2", "demo-3"];

test("all fall asleep in order, the leader's workload ends last, and all wake in order", () => {
  let world = edit(three, { replicas: 0 });
  assert.deepEqual(says(hibernate, world), ["life: hibernate demo-1"]);
  for (const name of NAMES) world = record(world, name, { run: false });
  assert.deepEqual(says(hibernate, world), ["life: stop workload demo-2"]);
  const stop = (o: Observation, name: string) => change(o, name, { workload: { state: "absent" } });
  assert.deepEqual(says(hibernate, stop(world, "demo-2")), ["life: stop workload demo-3"]);
  const last = stop(stop(world, "demo-2"), "demo-3");
  assert.deepEqual(says(hibernate, last), ["life: stop workload demo-1"]);
  const stopping = change(last, "demo-1", { workload: { state: "stopping", since: last.now } });
  assert.deepEqual(says(hibernate, stopping), ["Stopping"]);
  assert.deepEqual(says(hibernate, stop(last, "demo-1")), ["Hibernated"]);
  assert.deepEqual(says(hibernate, edit(world, { replicas: 3 })), ["life: wake demo-1"]);
});
