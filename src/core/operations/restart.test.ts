import assert from "node:assert/strict";
import { test } from "node:test";
import { decide } from "../decide.ts";
import { exited, healthy, leaderOf, record, run } from "../testing/cluster.ts";
import { asking, outcomeOf, statusOf, stepsOf } from "../testing/operations.ts";

const world = healthy();

test("members one at a time, the leader last and with leadership handed over", () => {
  assert.deepEqual(stepsOf(asking(world, { kind: "restart" })), [
    "start operation task",
    "restart demo-2",
    "stop workload demo-2",
    "step operation task",
    "restart demo-3",
    "stop workload demo-3",
    "step operation task",
    "restart demo-1",
    "move leader demo-2",
    "stop workload demo-1",
    "step operation task",
    "succeed operation task",
  ]);
  const after = run(asking(world, { kind: "restart" }));
  assert.ok(after.members.every((facts) => facts.record.restart === "uid-of-task"));
  assert.notEqual(leaderOf(after), "demo-1");
});

test("each member restarts once: nothing follows when it has ended", () => {
  const after = run(asking(world, { kind: "restart", members: ["demo-2"] }));
  assert.equal(statusOf(after).phase, "Succeeded");
  assert.ok(decide(after).converged);
  assert.ok(decide({ ...after, operations: [] }).converged);
});

test("a second restart restarts again", () => {
  const once = run(asking(world, { kind: "restart", members: ["demo-2"] }));
  const again = stepsOf(asking(once, { kind: "restart", members: ["demo-2"] }, { name: "again" }));
  assert.ok(again.includes("stop workload demo-2"));
});

for (const medium of ["Memory", "Ephemeral"] as const) {
  test(`on ${medium}, where a restart loses the data, a member is replaced instead`, () => {
    const steps = stepsOf(asking(healthy({ storage: { medium } }), { kind: "restart", members: ["demo-2"] }));
    assert.ok(steps.indexOf("promote demo-4") > 0, steps.join("\n"));
    assert.ok(steps.indexOf("promote demo-4") < steps.indexOf("remove from etcd demo-2"));
    assert.equal(steps.at(-1), "succeed operation task");
  });
}

test("one member, or two, restart with a gap: there is no other way", () => {
  for (const replicas of [1, 2])
    assert.equal(outcomeOf(asking(healthy({ replicas }), { kind: "restart" })).phase, "Succeeded");
});

test("a member that is ill is restarted first and at once", () => {
  const ill = exited(world, "demo-3", "unknown");
  const { act } = decide(asking(ill, { kind: "restart", members: ["demo-2", "demo-3"] }));
  assert.ok(act?.action.kind === "UpdateOperation");
  assert.deepEqual(act.action.status.members, ["demo-3", "demo-2"]);
});

test("what would cost the quorum is rejected, or waits where no member was named", () => {
  const ill = exited(world, "demo-3", "unknown");
  const named = decide(asking(ill, { kind: "restart", members: ["demo-2"] })).act?.action;
  assert.ok(named?.kind === "UpdateOperation");
  assert.equal(named.status.reason, "WouldLoseQuorum");
  assert.equal(decide(asking(ill, { kind: "restart" })).act, undefined);
});

test("a member that was replaced meanwhile needs no restart", () => {
  const status = { phase: "Running" as const, members: ["demo-9"] };
  assert.equal(outcomeOf(asking(world, { kind: "restart" }, { status })).phase, "Succeeded");
});

test("one that does not come back keeps the next one running", () => {
  const stamped = record(exited(world, "demo-2", "unknown"), "demo-2", { restart: "uid-of-task" });
  const status = { phase: "Running" as const, members: ["demo-2", "demo-3"] };
  const decision = decide(asking(stamped, { kind: "restart" }, { status }));
  assert.ok(decision.act === undefined || decision.act.action.kind === "StopWorkload");
});
