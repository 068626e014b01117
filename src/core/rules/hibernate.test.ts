import assert from "node:assert/strict";
import { test } from "node:test";
import { decide } from "../decide.ts";
import { edit, healthy, run } from "../testing/cluster.ts";

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
