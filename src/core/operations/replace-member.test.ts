import assert from "node:assert/strict";
import { test } from "node:test";
import { decide } from "../decide.ts";
import type { Observation } from "../observation.ts";
import { describeStep } from "../messages/step-names.ts";
import { exited, healthy, record, run } from "../testing/cluster.ts";
import { asking, outcomeOf, statusOf, stepsOf } from "../testing/operations.ts";
import { unseen } from "../testing/unseen.ts";

const world = healthy();
function describe(observation: Observation): string {
  const { act } = decide(observation);
  return act ? `${act.class}: ${describeStep(act)}` : "nothing";
}

const task = { kind: "replaceMember", name: "demo-2" } as const;

test("while it serves, a new member votes before it is removed", () => {
  const steps = stepsOf(asking(world, task));
  assert.deepEqual(steps.slice(0, 3), ["start operation task", "retire demo-2", "step operation task"]);
  assert.ok(steps.indexOf("promote demo-4") > 0);
  assert.ok(steps.indexOf("promote demo-4") < steps.indexOf("remove from etcd demo-2"));
  assert.equal(steps.at(-1), "succeed operation task");
  const after = run(asking(world, task));
  assert.deepEqual(
    after.members.map((facts) => facts.record.name),
    ["demo-1", "demo-3", "demo-4"],
  );
  assert.equal(statusOf(after).phase, "Succeeded");
});

test("a broken member is removed before the new one joins, without waiting for memberLostAfter", () => {
  const broken = exited(world, "demo-2", "unknown");
  const { act } = decide(asking(broken, task));
  assert.equal(act?.message, "starting operation task (replace demo-2)");
  const running = asking(broken, task, { status: { phase: "Running", members: ["demo-2"] } });
  assert.equal(describe(running), "heal: retire demo-2");
  const retiring = { reason: "its replacement was requested", requested: true };
  assert.equal(describe(record(running, "demo-2", { retiring })), "heal: leave demo-2");
});

test("a running member that missed an answer, or that only the operator cannot reach, is not taken for broken", () => {
  const retiring = { reason: "its replacement was requested", requested: true };
  const requested = record(world, "demo-2", { retiring });
  const now = requested.now;
  const missed = unseen(requested, "demo-2", false, { unhealthySince: now - 1_000 });
  assert.notEqual(describe(missed), "heal: leave demo-2");
  const down = unseen(requested, "demo-2", false, { unhealthySince: now - 120_000, seenByPeers: false });
  assert.equal(describe(down), "heal: leave demo-2");
  const served = unseen(requested, "demo-2", true, { seenByPeers: true });
  assert.notEqual(describe(served), "heal: leave demo-2");
  const { act } = decide(asking(unseen(world, "demo-2", true, { seenByPeers: true }), task));
  assert.equal(act?.action.kind === "UpdateOperation" && act.action.status.reason, "MemberNotHealthy");
});

test("the only member of a cluster is replaced too, and a standing learner", () => {
  const one = { kind: "replaceMember", name: "demo-1" } as const;
  assert.equal(outcomeOf(asking(healthy({ replicas: 1 }), one)).phase, "Succeeded");
  const learner = { kind: "replaceMember", name: "demo-4" } as const;
  assert.equal(outcomeOf(asking(healthy({ learners: 1 }), learner)).phase, "Succeeded");
});

test("it is carried out although the operation is deleted meanwhile: the record of the member holds the request", () => {
  const requested = record(world, "demo-2", {
    retiring: { reason: "its replacement was requested", requested: true },
  });
  const after = run(requested);
  assert.ok(!after.members.some((facts) => facts.record.name === "demo-2"));
  assert.equal(after.members.length, 3);
});

test("what would cost the quorum, and who is no member, is rejected", () => {
  const reason = (...args: Parameters<typeof asking>) => {
    const { act } = decide(asking(...args));
    return act?.action.kind === "UpdateOperation" ? act.action.status.reason : undefined;
  };
  assert.equal(reason(world, { kind: "replaceMember", name: "demo-9" }), "UnknownMember");
  const leaving = record(world, "demo-3", { leaving: { reason: "fewer", volume: "Delete" } });
  const going = decide(asking(leaving, { kind: "replaceMember", name: "demo-3" }));
  assert.notEqual(going.act?.rule, "operations");
});
