/** Too few members: who comes, and when. */
import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { edit, exited, healthy, record, run } from "../testing/cluster.ts";
import { starting } from "../testing/joining.ts";
import { says } from "../testing/says.ts";
import { scaleOut } from "./scale-out.ts";

const three = healthy();

test("a newcomer is recorded only when nobody leaves, is down or is on its way in", () => {
  const grow = edit(three, { replicas: 4 });
  const leaving = { reason: "it goes", volume: "Retain" } as const;
  assert.deepEqual(says(scaleOut, grow), ["join: create member demo-4"]);
  assert.deepEqual(says(scaleOut, record(grow, "demo-3", { leaving })), ["Stopping"]);
  assert.deepEqual(says(scaleOut, exited(grow, "demo-2")), ["MemberUnhealthy"]);
  assert.deepEqual(says(scaleOut, edit(starting(), { replicas: 5 })), ["MemberStarting"]);
  assert.deepEqual(says(scaleOut, three), []);
  const none = { ...grow, platform: { ...grow.platform, offers: [] } };
  assert.deepEqual(says(scaleOut, none), ["NoAddress"]);
});

test("any size from 1 to 9 is reached from any other, and every name is new", () => {
  const size = fc.integer({ min: 1, max: 9 });
  fc.assert(
    fc.property(size, size, fc.constantFrom("3.5.35", "3.6.16", "3.7.3"), (from, to, version) => {
      const end = run(edit(healthy({ replicas: from, version }), { replicas: to }));
      assert.equal(end.members.length, to);
      assert.equal(end.etcd.list?.members.length, to);
      assert.ok(end.etcd.list?.members.every((entry) => !entry.isLearner));
    }),
    { numRuns: 60 },
  );
});

test("in and out again uses new names (H11)", () => {
  const end = run(edit(run(edit(healthy(), { replicas: 1 })), { replicas: 3 }));
  assert.deepEqual(
    end.members.map((facts) => facts.record.name),
    ["demo-1", "demo-4", "demo-5"],
  );
});

test("below 3.6, where a newcomer is the rollout, a standing learner makes room first and comes back last (H4, H8)", () => {
  const memory = { medium: "Memory", size: "64Mi" } as const;
  const before = healthy({ replicas: 3, learners: 1, storage: memory });
  const { members } = run(edit(before, { version: "3.5.35" }));
  assert.deepEqual(
    members.map(({ record }) => `${record.role} ${record.template.version}`),
    ["Voter 3.5.35", "Voter 3.5.35", "Voter 3.5.35", "Learner 3.5.35"],
  );
  assert.deepEqual(
    members.map(({ record }) => record.ordinal),
    [5, 6, 7, 8],
  );
});
