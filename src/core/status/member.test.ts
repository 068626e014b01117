import assert from "node:assert/strict";
import { test } from "node:test";
import type { Observation } from "../observation.ts";
import { change, exited, healthy, leaderOf, NOW } from "../testing/cluster.ts";
import { viewOf } from "../view.ts";
import { memberStatusOf } from "./member.ts";

function statusOf(observation: Observation, name: string, previous?: ReturnType<typeof memberStatusOf>) {
  const view = viewOf(observation);
  const member = view.members.find((one) => one.name === name);
  assert.ok(member);
  return memberStatusOf(view, member, 3, previous);
}

const ready = ({ conditions }: ReturnType<typeof statusOf>) => conditions?.[0];

test("a healthy member is ready, with its ID and role", () => {
  const world = healthy();
  const status = statusOf(world, leaderOf(world));
  assert.equal(status.role, "Leader");
  assert.equal(status.memberID, `id-of-${leaderOf(world)}`);
  assert.equal(ready(status)?.status, "True");
  assert.equal(ready(status)?.observedGeneration, 3);
  assert.deepEqual([status.phase, status.observedGeneration], ["Healthy", 3]);
  assert.match(status.message ?? "", /is a healthy voter\.$/);
});

test("one that has ended says why", () => {
  const status = statusOf(exited(healthy(), "demo-2", "data-missing"), "demo-2");
  assert.deepEqual([ready(status)?.status, ready(status)?.reason], ["False", "Exited"]);
  assert.equal(status.phase, "Failed");
  assert.equal(status.message, "demo-2 exited: data-missing.");
});

test("one that leaves, sleeps, waits or hangs on a lost node says so", () => {
  const reason = (how: Parameters<typeof change>[2]) => {
    const world = change(healthy(), "demo-2", how);
    return ready(statusOf(world, "demo-2"))?.reason;
  };
  const silent = { answer: { reachable: false as const, error: "no answer" } };
  assert.equal(reason({ ...silent }), "NotAnswering");
  assert.equal(
    reason({ ...silent, workload: { state: "waiting", reason: "no node", since: NOW } }),
    "Waiting",
  );
  assert.equal(
    reason({ ...silent, workload: { state: "stopping", since: NOW, lostNode: "node-1" } }),
    "Stopping",
  );
  assert.equal(
    reason(({ record }) => ({ ...silent, workload: { state: "absent" }, record: { ...record, run: false } })),
    "Hibernated",
  );
  assert.equal(
    reason(({ record }) => ({ record: { ...record, leaving: { reason: "scale-in", volume: "Delete" } } })),
    "Leaving",
  );
});

test("the time of the last transition is kept while nothing changes", () => {
  const first = statusOf(healthy(), "demo-2");
  const later = { ...healthy(), now: NOW + 3_600_000 };
  assert.equal(ready(statusOf(later, "demo-2", first))?.lastTransitionTime, ready(first)?.lastTransitionTime);
  const down = statusOf(exited(later, "demo-2"), "demo-2", first);
  assert.notEqual(ready(down)?.lastTransitionTime, ready(first)?.lastTransitionTime);
});
