import assert from "node:assert/strict";
import { test } from "node:test";
import { decide } from "../decide.ts";
import { answering, change, edit, exited, healthy, leaderOf, run } from "../testing/cluster.ts";
import { asking, outcomeOf, statusOf } from "../testing/operations.ts";

const world = healthy({ learners: 1 });

function ending(...args: Parameters<typeof asking>): string {
  const { phase, reason } = outcomeOf(asking(...args));
  return `${phase} ${reason}`;
}

test("leadership goes to the member that was named", () => {
  const after = run(asking(world, { kind: "moveLeader", to: "demo-3" }));
  assert.equal(leaderOf(after), "demo-3");
  assert.equal(statusOf(after).phase, "Succeeded");
});

test("without a name it goes to the most caught-up healthy voter, once", () => {
  const behind = answering(world, "demo-2", { raftAppliedIndex: 1 });
  const { act } = decide(asking(behind, { kind: "moveLeader" }));
  assert.ok(act?.action.kind === "UpdateOperation");
  assert.deepEqual(act.action.status.members, ["demo-3"]);
  const after = run(asking(world, { kind: "moveLeader" }));
  assert.equal(leaderOf(after), "demo-2");
  assert.deepEqual(statusOf(after).members, ["demo-2"]);
});

test("who leads already has nothing to do", () => {
  assert.equal(ending(world, { kind: "moveLeader", to: leaderOf(world) }), "Succeeded AlreadyLeader");
});

test("a wrong target is rejected with the reason", () => {
  assert.equal(ending(world, { kind: "moveLeader", to: "demo-9" }), "Rejected UnknownMember");
  assert.equal(ending(world, { kind: "moveLeader", to: "demo-4" }), "Rejected MemberIsLearner");
  assert.equal(ending(healthy({ replicas: 1 }), { kind: "moveLeader" }), "Rejected NoOtherVoter");
});

test("a fenced member is rejected: leadership would be moved away from it again", () => {
  const fenced = change(world, "demo-2", { fenced: true });
  assert.equal(ending(fenced, { kind: "moveLeader", to: "demo-2" }), "Rejected MemberFenced");
});

test("a member that is ill is rejected at once, although others are being healed", () => {
  const ill = exited(world, "demo-2");
  const { act } = decide(asking(ill, { kind: "moveLeader", to: "demo-2" }));
  assert.ok(act?.action.kind === "UpdateOperation");
  assert.equal(act.action.status.reason, "MemberNotHealthy");
});

test("one that falls ill before the move is not made leader", () => {
  const running = asking(
    world,
    { kind: "moveLeader", to: "demo-2" },
    {
      status: { phase: "Running", members: ["demo-2"] },
    },
  );
  const ill = change(running, "demo-2", { answer: { reachable: false, error: "connection refused" } });
  const { act } = decide(ill);
  assert.ok(act?.action.kind === "UpdateOperation");
  assert.deepEqual([act.action.status.phase, act.action.status.reason], ["Failed", "MemberNotHealthy"]);
});

test("one that was removed meanwhile is not made leader", () => {
  const three = asking(
    healthy(),
    { kind: "moveLeader", to: "demo-9" },
    {
      status: { phase: "Running", members: ["demo-9"] },
    },
  );
  assert.equal(outcomeOf(edit(three, {})).reason, "Incomplete");
});
