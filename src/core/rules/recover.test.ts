import assert from "node:assert/strict";
import { test } from "node:test";
import { revisionFloor } from "../../api/restore-values.ts";
import { decide } from "../decide.ts";
import type { Observation } from "../observation.ts";
import { assertInvariants } from "../testing/naive-invariants.ts";
import { change, edit, exited, healthy, record } from "../testing/cluster.ts";
import { asking, operationOf, statusOf } from "../testing/operations.ts";
import {
  after,
  ending,
  hash,
  holding,
  lostQuorum,
  next,
  onMachine,
  planOf,
  stoppedPods,
  task,
  unread,
  until,
  world,
} from "../testing/quorum-loss.ts";
import { statusOf as clusterStatus } from "../status/status.ts";

test("the plan takes the member whose log knows most: the term before the index", () => {
  assert.equal(planOf(world)?.survivor.name, "demo-1");
  const five = healthy({ replicas: 5 });
  const two = ["demo-3", "demo-4", "demo-5"].reduce(
    (o, name) => change(exited(o, name, "data-missing"), name, { directory: { state: "empty" } }),
    holding(holding(exited(exited(five, "demo-1"), "demo-2"), "demo-1", { term: 3, index: 900 }), "demo-2", {
      term: 4,
      index: 7,
    }),
  );
  const { list: _nobody, ...etcd } = two.etcd;
  assert.equal(planOf({ ...two, etcd })?.survivor.name, "demo-2");
});

test("the plan says from how long before the loss, where a read through quorum told what the survivor has", () => {
  const goneAt = world.members.find((facts) => facts.record.name === "demo-2")?.goneSince ?? 0;
  const withLooks = (...looks: readonly (readonly [number, number])[]) => ({
    ...world,
    etcd: {
      ...world.etcd,
      revisionLooks: looks.map(([revision, before]) => ({ revision, at: goneAt - before })),
    },
  });
  const told = (observation: Observation) =>
    clusterStatus(observation, decide(observation), undefined).recovery;
  // It has revision 80 for certain: what is above it was written after the look that told 80.
  const known = told(withLooks([70, 60_000], [80, 20_100], [95, 5_000]));
  assert.equal(known?.lostSeconds, 21);
  assert.match(
    known?.message ?? "",
    /that were seen, and none of them was older than 21s when quorum was lost/,
  );
  for (const unknown of [world, withLooks(), withLooks([95, 5_000])]) {
    assert.equal(told(unknown)?.lostSeconds, undefined);
    assert.doesNotMatch(told(unknown)?.message ?? "", /older/);
  }
  const seen = withLooks([79, 20_000]);
  const members = seen.members.map(({ goneSince: _unseen, ...facts }) => facts);
  assert.equal(told({ ...seen, members })?.lostSeconds, undefined, "nobody saw when quorum was lost");
});

test("the plan says what would be lost, in the status with its hash", () => {
  const { recovery } = clusterStatus(world, decide(world), undefined);
  assert.equal(recovery?.plan, hash);
  assert.deepEqual(recovery.revision, { least: 80, most: 90 });
  assert.deepEqual(recovery.lostRevisions, { least: 5, most: 15 });
  assert.deepEqual(recovery.members, [
    { name: "demo-1", data: "Found", term: 3, index: 100 },
    { name: "demo-2", data: "Lost" },
    { name: "demo-3", data: "Lost" },
  ]);
  assert.match(recovery.message, /writes that only demo-2, demo-3 had are lost: 5 to 15 of the revisions/);
  assert.match(decide(world).holds.at(-1)?.next ?? "", /kubectl etcd recover quorum demo -n default/);
});

test("there is no plan while a quorum has its data, or while a directory was not looked into", () => {
  assert.equal(planOf(healthy()), undefined);
  assert.equal(planOf(holding(exited(world, "demo-2"), "demo-2")), undefined, "demo-2 came back");
  const unknown = { ...world, members: world.members.map(({ directory: _unread, ...facts }) => facts) };
  assert.equal(planOf(unknown), undefined);
  assert.equal(
    planOf(holding(world, "demo-1", { clusterID: "other" })),
    undefined,
    "data of another cluster",
  );
});

test("another hash, a member that came back, and a cluster with quorum: rejected, and nothing is done", () => {
  const wrong = asking(world, { kind: "recoverQuorum", approve: "0123456789abcdef" });
  assert.deepEqual(ending(wrong), ["Rejected", "PlanChanged"]);
  const changed = asking(holding(world, "demo-1", { index: 101 }), task);
  assert.deepEqual(ending(changed), ["Rejected", "PlanChanged"]);
  const back = onMachine(asking(holding(exited(world, "demo-2"), "demo-2"), task));
  assert.deepEqual(ending(back), ["Rejected", "QuorumNotLost"]);
  const unknown = { ...world, members: world.members.map(({ directory: _unread, ...facts }) => facts) };
  const refused = { ...unknown, platform: { ...unknown.platform, recoveryRefused: "they are in memory" } };
  assert.deepEqual(ending(asking(refused, task)), ["Rejected", "RecoveryNotSupported"]);
  assert.deepEqual(ending(asking(healthy(), task)), ["Rejected", "QuorumNotLost"]);
  const absent = unknown.members.map((facts) => ({ ...facts, volume: { state: "absent" } as const }));
  const wiped = asking(onMachine({ ...unknown, members: absent }), task);
  assert.deepEqual(
    ending(wiped),
    ["Rejected", "PlanChanged"],
    "there is nothing left, and it was looked for",
  );
});

test("everybody is stopped before the data is read, and it is at hand before the old life ends", () => {
  const approved = asking(world, task);
  const rescue = until(approved, ({ kind }) => kind === "RescueData");
  assert.ok(rescue.members.every(({ record: { run } }) => !run));
  assert.ok(rescue.members.every(({ workload }) => workload.state !== "running"));
  assert.equal(rescue.cluster.marks.life, 1);
  const mark = until(rescue, ({ kind }) => kind === "MarkCluster");
  assert.equal(mark.platform.rescued?.plan, hash);
  const { act } = decide(mark);
  assert.ok(act?.action.kind === "MarkCluster" && act.action.purpose === "recover");
  assert.equal(act.action.change.life, 2);
  assert.deepEqual(act.action.change.recovered?.restore.source, { file: { path: "/snapshot.db" } });
});

test("one that hangs while it stops is waited for", () => {
  const running = until(onMachine(asking(world, task)), ({ kind }) => kind === "StopWorkload");
  const hangs = change(running, "demo-1", { workload: { state: "stopping", since: 1 } });
  assert.equal(next(hangs), "nothing");
  assert.equal(decide(hangs).holds.at(-1)?.code, "RecoveryAwaitsStop");
  const half = change(hangs, "demo-1", { directory: undefined });
  assert.equal(next(half), "nothing", "what it is still writing cannot be read, and changes no plan");
  assert.equal(decide(half).holds.at(-1)?.code, "RecoveryAwaitsStop");
  const ended = change(half, "demo-1", { workload: { state: "absent" }, directory: { state: "empty" } });
  assert.deepEqual(ending(ended), ["Failed", "PlanChanged"]);
});

test("whatever differs from the approved plan before the old life ends ends it, and members are started again", () => {
  const rescue = until(onMachine(asking(world, task)), ({ kind }) => kind === "RescueData");
  const back = holding(rescue, "demo-2");
  const returned = change(back, "demo-2", { workload: { state: "absent" } });
  assert.deepEqual(ending(returned), ["Failed", "QuorumNotLost"]);
  const { act } = decide(returned);
  assert.ok(act);
  assert.match(next(after(returned, act.action)), /^wake demo-/);
  const failing = {
    ...rescue,
    operations: rescue.operations.map((one) => ({ ...one, failures: { count: 3, error: "no space" } })),
  };
  assert.deepEqual(ending(failing), ["Failed", "StepFailed"]);
  const cancelled = { ...rescue, operations: [] };
  assert.match(next(cancelled), /^wake demo-/);
});

test("the new life begins from the snapshot alone, former members are never started again, their volumes are kept", () => {
  let now = until(asking(world, task), ({ kind }) => kind === "MarkCluster");
  const mark = decide(now).act;
  assert.ok(mark);
  now = after(now, mark.action);
  for (let i = 0; i < 40; i++) {
    const { act } = decide(now);
    assert.ok(act);
    assertInvariants(now, act.action);
    const { action } = act;
    if (action.kind === "CreateMember") {
      assert.equal(action.record.name, "demo-4");
      assert.deepEqual(action.record.restore?.source, { file: { path: "/snapshot.db" } });
      assert.deepEqual(
        action.record.initialCluster.map(({ name }) => name),
        ["demo-4"],
      );
      assert.equal(now.members.length, 0, "nobody of the former life is left");
      return;
    }
    if (action.kind === "UpdateMember") {
      assert.equal(action.purpose, "leave");
      assert.equal(action.change.leaving?.volume, "Retain");
      now = after(now, action);
    } else if (action.kind === "DeleteMember")
      now = { ...now, members: now.members.filter((facts) => facts.record.name !== action.member) };
    else now = after(now, action);
  }
  assert.fail("no first member");
});

test("a founder of the new life that loses its volume is founded again from the same snapshot, never empty", () => {
  const recovered = {
    plan: hash,
    operation: "uid-of-task",
    survivor: "demo-1",
    revision: 90,
    restore: { source: { file: { path: "/snapshot.db" } } },
  };
  const fresh = { ...world, members: [], operations: [] };
  const third = {
    ...fresh,
    cluster: { ...world.cluster, marks: { ...world.cluster.marks, life: 3, highestOrdinal: 4, recovered } },
  };
  const { act } = decide(third);
  assert.ok(act?.action.kind === "CreateMember", JSON.stringify(decide(third)));
  assert.deepEqual(act.action.record.restore, { ...recovered.restore, raiseTo: revisionFloor(third.now) });
});

test("a spec that asks for another minor version is rejected before anything is stopped", () => {
  assert.deepEqual(ending(asking(edit(world, { version: "3.7.3" }), task)), ["Rejected", "VersionDiffers"]);
  assert.equal(next(asking(edit(world, { version: "3.6.14" }), task)), "start operation task");
});

test("an operation that ran when quorum was lost ends before the recovery begins", () => {
  const other = operationOf(
    { kind: "restart" },
    { name: "other", status: { phase: "Running", members: ["demo-2"] } },
  );
  const both = asking({ ...world, operations: [other] }, task);
  const { act } = decide(both);
  assert.ok(act?.action.kind === "UpdateOperation");
  assert.equal(act.action.operation, "other");
  assert.equal(act.action.status.reason, "QuorumRecovered");
});

test("a paused or hibernated cluster is not recovered", () => {
  assert.equal(next(asking(edit(world, { paused: true }), task)), "nothing");
  const asleep = asking(edit(world, { replicas: 0 }), task);
  assert.match(next(asleep), /^hibernate/);
  assert.equal(statusOf(asleep).phase, undefined);
});

test("a leaving voter that has the newest data is the survivor, and its volume is kept whatever was decided before", () => {
  const leaving = { reason: "scale-in", volume: "Delete" } as const;
  const without = record(lostQuorum(), "demo-3", { leaving });
  const unread = change(exited(without, "demo-3"), "demo-3", { directory: undefined });
  assert.equal(planOf(unread), undefined, "its directory was not looked into");
  const newest = holding(unread, "demo-3", { index: 200 });
  const found = planOf(newest);
  assert.equal(found?.survivor.name, "demo-3");
  assert.notEqual(found.hash, planOf(holding(newest, "demo-3", { index: 201 }))?.hash);
  let now = until(
    asking(newest, { kind: "recoverQuorum", approve: found.hash }),
    ({ kind }) => kind === "MarkCluster",
  );
  for (let i = 0; i < 40 && now.members.length > 0; i++) {
    const { act } = decide(now);
    assert.ok(act);
    const { action } = act;
    now =
      action.kind === "DeleteMember"
        ? { ...now, members: now.members.filter((facts) => facts.record.name !== action.member) }
        : after(now, action);
  }
  assert.equal(now.members.length, 0);
});

test("a second quorum loss while members are rebuilt ends the first recovery, and the second begins", () => {
  const recovered = { plan: hash, operation: "uid-of-first", survivor: "demo-1", revision: 90 };
  const restore = { source: { file: { path: "/snapshot.db" } } };
  const marks = { ...world.cluster.marks, recovered: { ...recovered, restore } };
  const first = operationOf(
    { kind: "recoverQuorum", approve: "0123456789abcdef" },
    { name: "first", uid: "uid-of-first", status: { phase: "Running" } },
  );
  const again = asking({ ...world, cluster: { ...world.cluster, marks }, operations: [first] }, task);
  const { act } = decide(again);
  assert.ok(act?.action.kind === "UpdateOperation", next(again));
  assert.deepEqual([act.action.operation, act.action.status.phase], ["first", "Failed"]);
  assert.equal(next(after(again, act.action)), "start operation task");
});

test("what is being read is waited for: before it begins without an answer, then with a hold, and not for ever", () => {
  assert.equal(next(asking(unread(world, "demo-1"), task)), "nothing");
  const again = stoppedPods(asking(world, task));
  assert.equal(next(again), "nothing");
  assert.equal(decide(again).holds.at(-1)?.code, "RecoveryReads");
  assert.deepEqual(ending({ ...again, now: again.now + 31 * 60_000 }), ["Failed", "StepFailed"]);
  const empty = ["demo-2", "demo-3"].reduce(
    (o, name) => change(o, name, { directory: { state: "empty" } }),
    again,
  );
  assert.match(next(holding(empty, "demo-1")), /rescue/);
  assert.deepEqual(ending(holding(empty, "demo-1", { index: 101 })), ["Failed", "PlanChanged"]);
});

test("a volume that could not be asked for just now ends no recovery", () => {
  const running = stoppedPods(asking(world, task));
  const read = holding(change(running, "demo-2", { directory: { state: "empty" } }), "demo-1");
  const unknown = change(read, "demo-3", {
    volume: { state: "pending", reason: "not read" },
    directory: undefined,
  });
  assert.equal(decide(unknown).act, undefined);
  assert.equal(decide(unknown).holds.at(-1)?.code, "RecoveryReads");
});

test("data that etcd itself could not read does not count as one that came back once it has stopped", () => {
  const corrupt = holding(exited(world, "demo-2", "data-corrupt"), "demo-2");
  assert.equal(planOf(corrupt)?.hash, hash, "demo-2 has as little as before");
  const again = stoppedPods(asking(corrupt, task));
  const read = change(holding(holding(again, "demo-1"), "demo-2"), "demo-3", {
    directory: { state: "empty" },
  });
  assert.match(next(read), /rescue/);
});

test("a member whose volume nobody can reach is named in the plan, and never one that may still run", () => {
  const away = { state: "unreachable", why: "no node can use it" } as const;
  const gone = change(exited(world, "demo-3"), "demo-3", { directory: away, workload: { state: "absent" } });
  const found = planOf(gone);
  assert.equal(found?.survivor.name, "demo-1");
  assert.notEqual(found.hash, hash);
  const { recovery, message } = clusterStatus(gone, decide(gone), undefined);
  assert.deepEqual(recovery?.members[2], { name: "demo-3", data: "Unreachable" });
  assert.match(recovery.message, /what demo-3 holds is not known: no node can use it/);
  assert.match(message ?? "", /the volume of demo-3 cannot be reached/);
  const since = { state: "stopping", since: 1, lostNode: "node-c" } as const;
  assert.equal(planOf(change(gone, "demo-3", { workload: since })), undefined);
});
