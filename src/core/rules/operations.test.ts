import assert from "node:assert/strict";
import { test } from "node:test";
import { decide } from "../decide.ts";
import type { Observation } from "../observation.ts";
import { predict } from "../plan/predict.ts";
import { why } from "../status/why.ts";
import { NOW, edit, exited, healthy, run } from "../testing/cluster.ts";
import { asking, outcomeOf, statusOf, stepsOf, reportedStatus } from "../testing/operations.ts";
import { says } from "../testing/says.ts";
import { operations } from "./operations.ts";

const world = healthy();
const move = { kind: "moveLeader", to: "demo-2" } as const;
const compact = { kind: "compact", retain: 0 } as const;

/** At revision 100. */
const aged: Observation = {
  ...world,
  members: world.members.map((facts) => ({
    ...facts,
    answer: facts.answer.reachable ? { ...facts.answer, revision: 100 } : facts.answer,
  })),
};

test("what it acts on is recorded before the first effect, and how it ended after the last", () => {
  assert.deepEqual(stepsOf(asking(world, move)), [
    "start operation task",
    "move leader demo-2",
    "succeed operation task",
  ]);
  const status = outcomeOf(asking(world, move));
  assert.equal(status.phase, "Succeeded");
  assert.equal(status.reason, "Completed");
  assert.equal(status.observedGeneration, 1);
  assert.equal(status.operation, "moveLeader");
  assert.deepEqual(status.members, ["demo-2"]);
  assert.ok(status.startedAt !== undefined && status.completedAt !== undefined);
});

test("its conditions are those that kstatus reads", () => {
  const words = (observation: Observation) =>
    statusOf(observation).conditions?.map(({ type, status }) => `${type} ${status}`);
  const asked = asking(world, move);
  const { act } = decide(asked);
  assert.ok(act);
  assert.deepEqual(words(predict(asked, act.action)), ["Ready False", "Reconciling True", "Stalled False"]);
  assert.deepEqual(words(run(asked)), ["Ready True", "Reconciling False", "Stalled False"]);
  const wrong = run(asking(world, { kind: "moveLeader", to: "demo-9" }));
  assert.deepEqual(words(wrong), ["Ready False", "Reconciling False", "Stalled True"]);
});

test("one runs at a time, in the order of creation", () => {
  const two = asking(asking(aged, move, { name: "first" }), compact, { name: "second" });
  assert.deepEqual(stepsOf(two), [
    "start operation first",
    "move leader demo-2",
    "succeed operation first",
    "start operation second",
    "compact to revision 100",
    "succeed operation second",
  ]);
  assert.equal(reportedStatus(two, "second"), "Pending Queued");
});

test("one that runs is not overtaken by one that was created in the same second and comes first by name", () => {
  const two = asking(asking(aged, compact, { name: "a", status: {} }), move, {
    name: "b",
    status: { phase: "Running", members: ["demo-2"] },
  });
  assert.equal(stepsOf(two)[0], "move leader demo-2");
});

test("after a crash at any point the next controller continues, and the effects are the same", () => {
  let now = asking(asking(aged, move, { name: "first" }), { kind: "restart" }, { name: "second" });
  for (let steps = 0; steps < 100; steps++) {
    const { act } = decide(now);
    if (!act) break;
    now = predict(now, act.action);
    // What a controller has in its memory alone.
    const { compacted: _, defragmentedFor: __, ...etcd } = now.etcd;
    now = { ...now, etcd: { ...etcd, defragmentedAt: {} } };
  }
  assert.equal(statusOf(now, "first").phase, "Succeeded");
  assert.equal(statusOf(now, "second").phase, "Succeeded");
});

test("healing comes first, and the operation is told what it waits for", () => {
  const down = asking(exited(aged, "demo-3"), compact);
  const { act, heldBack } = decide(down);
  assert.equal(act, undefined);
  assert.ok(heldBack.some(({ rule }) => rule === "operations"));
  assert.equal(reportedStatus(down), "Pending MemberUnhealthy");
});

test("it comes before a change of the spec, and keeps rollouts away while it runs", () => {
  const both = edit(asking(aged, { kind: "restart", members: ["demo-2"] }), {
    options: { snapshotCount: 5000 },
  });
  const steps = stepsOf(both);
  assert.equal(steps[0], "start operation task");
  assert.ok(steps.indexOf("succeed operation task") < steps.findIndex((step) => step.startsWith("roll ")));
});

test("while paused, hibernated or without quorum it waits, and says why", () => {
  const asked = asking(aged, { kind: "restart" });
  const paused = edit(asked, { paused: true });
  assert.equal(decide(paused).act, undefined);
  assert.equal(reportedStatus(paused), "Pending Paused");
  const asleep = run(edit(aged, { replicas: 0 }));
  assert.equal(reportedStatus(asking(asleep, { kind: "restart" })), "Pending Hibernated");
  const lost = asking(exited(exited(aged, "demo-2"), "demo-3"), { kind: "restart" });
  assert.equal(decide(lost).act, undefined);
  assert.equal(reportedStatus(lost), "Pending Waking");
  const awake = edit({ ...asleep, operations: asked.operations }, { replicas: 3 });
  assert.equal(outcomeOf(awake).phase, "Succeeded");
});

test("a cluster that is being deleted rejects what is pending and ends what runs", () => {
  const deleting = (phase: "Running" | undefined) => {
    const asked = asking(world, { kind: "restart" }, { status: { ...(phase && { phase }) } });
    return { ...asked, cluster: { ...asked.cluster, deleting: true } };
  };
  assert.equal(reportedStatus(deleting(undefined)), "Rejected ClusterDeleted");
  assert.equal(reportedStatus(deleting("Running")), "Failed ClusterDeleted");
});

test("a controller that lost its lease writes nothing", () => {
  const asked = asking(world, move);
  const fenced = { ...asked, platform: { ...asked.platform, fenced: true } };
  assert.equal(decide(fenced).act, undefined);
  assert.equal(reportedStatus(fenced), "nothing");
});

test("nothing is told twice in the same words", () => {
  const paused = edit(asking(world, move), { paused: true });
  const [reported] = paused.operations;
  assert.ok(reported);
  const status = {
    phase: "Pending",
    reason: "Paused",
    message:
      "Spec.paused is true, so nothing is changed and failed members are not replaced. Set spec.paused to false.",
  } as const;
  assert.equal(reportedStatus(paused), "Pending Paused");
  const before = { ...paused, operations: [{ ...reported, status }] };
  const said = reportedStatus(before);
  assert.ok(said === "nothing" || said === "Pending Paused");
});

test("one that was deleted takes no further step, whether it was pending or running", () => {
  assert.deepEqual(stepsOf(asking(world, move, { deleting: true })), []);
  const running = { phase: "Running", members: ["demo-2"] } as const;
  assert.deepEqual(
    stepsOf(asking(world, move, { deleting: true, status: { ...running, members: ["demo-2"] } })),
    [],
  );
});

test("a step that keeps failing ends it, with the error", () => {
  const failures = { count: 6, error: "etcdserver: not leader" };
  const status = { phase: "Running", members: ["demo-2"] } as const;
  const tried = asking(world, move, { failures, status: { ...status, members: ["demo-2"] } });
  assert.deepEqual(says(operations, tried), ["record: fail operation task"]);
  const ended = outcomeOf(tried);
  assert.equal(ended.reason, "StepFailed");
  assert.match(ended.message ?? "", /etcdserver: not leader/);
});

test("a task of a newer release is rejected", () => {
  const status = outcomeOf(asking(world, { kind: "unknown" }));
  assert.deepEqual([status.phase, status.reason], ["Rejected", "UnknownOperation"]);
});

test("a finished one is deleted when its time has come, and not before", () => {
  const finished = (ttlSecondsAfterFinished?: number) =>
    asking(world, move, {
      ...(ttlSecondsAfterFinished !== undefined && { ttlSecondsAfterFinished }),
      status: { phase: "Succeeded", completedAt: new Date(NOW - 60_000).toISOString() },
    });
  const at = (observation: Observation) => ({ ...observation, now: NOW });
  assert.deepEqual(says(operations, at(finished(60))), ["record: delete operation task"]);
  assert.deepEqual(says(operations, at(finished(90))), ["OperationFinished for 30000 ms"]);
  assert.deepEqual(says(operations, at(finished())), []);
  const waiting = decide(at(finished(90)));
  assert.ok(waiting.converged);
  assert.deepEqual(why(waiting).reasons, [], "nobody waits for that");
  assert.equal(why(waiting).summary, "Nothing to do: the cluster matches its spec.");
});

test("when one finished is written and judged by the server's time, whatever our own clock says", () => {
  for (const aheadMs of [7_200_000, -7_200_000]) {
    const world_ = {
      ...asking(world, move, { ttlSecondsAfterFinished: 60 }),
      now: NOW + aheadMs,
      serverNow: NOW,
    };
    const { completedAt = "" } = outcomeOf(world_);
    assert.equal(Date.parse(completedAt), NOW);
    const later = (afterMs: number) => ({
      ...asking(world, move, { ttlSecondsAfterFinished: 60, status: { phase: "Succeeded", completedAt } }),
      // Set right meanwhile.
      now: NOW + afterMs,
      serverNow: NOW + afterMs,
    });
    assert.deepEqual(says(operations, later(59_000)), ["OperationFinished for 1000 ms"]);
    assert.deepEqual(says(operations, later(60_000)), ["record: delete operation task"]);
  }
});

test("one that says that it finishes in the future counts from when it was first seen finished", () => {
  const at = (finishedSince?: number) => ({
    ...asking(world, move, {
      ttlSecondsAfterFinished: 60,
      status: { phase: "Succeeded", completedAt: new Date(NOW + 7_200_000).toISOString() },
      ...(finishedSince !== undefined && { finishedSince }),
    }),
    now: NOW,
  });
  assert.deepEqual(says(operations, at()), ["OperationFinished for 60000 ms"]);
  assert.deepEqual(says(operations, at(NOW - 30_000)), ["OperationFinished for 30000 ms"]);
  assert.deepEqual(says(operations, at(NOW - 60_000)), ["record: delete operation task"]);
});

test("an operation whose status cannot be written keeps neither scaling nor rollouts waiting", () => {
  const unrecorded = { at: NOW, error: "etcdoperations is forbidden" };
  const o = edit(asking(world, move, { unrecorded }), { replicas: 5 });
  const { act, holds } = decide(o);
  assert.equal(act?.rule, "scale-out");
  const reported = holds.find(({ reason }) => reason === "OperationUnrecorded");
  assert.match(reported?.message ?? "", /its status cannot be written \(etcdoperations is forbidden\)/);
  assert.equal(reported?.until, NOW + 60_000);
  const later = decide({ ...o, now: NOW + 60_000 }).act;
  assert.equal(later?.action.kind === "UpdateOperation" && later.action.purpose, "start");
});

test("an operation that cannot be deleted after its time keeps nothing waiting", () => {
  const status = { observedGeneration: 1, phase: "Succeeded", completedAt: "2020-01-01T00:00:00Z" } as const;
  const unrecorded = { at: NOW, error: "etcdoperations is forbidden" };
  const o = asking(world, move, { status, ttlSecondsAfterFinished: 0, unrecorded });
  assert.equal(decide(edit(o, { replicas: 5 })).act?.rule, "scale-out");
});
