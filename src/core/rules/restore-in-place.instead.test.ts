/** A restore that was approved instead of a recovery: good only for members that hold just what was approved. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { decide } from "../decide.ts";
import type { Observation, OperationFacts } from "../observation.ts";
import { change, exited, healthy, record } from "../testing/cluster.ts";
import { recoveryOf } from "../status/recovery.ts";
import {
  after,
  ending,
  holding,
  next,
  onMachine,
  planOf,
  preferring,
  unread,
  until,
} from "../testing/quorum-loss.ts";
import { scheduleNamed } from "../testing/snapshots.ts";
import { viewOf } from "../view.ts";

/** Approved, and not started. */
function asked(observation: Observation): Observation {
  const made = until(observation, ({ kind }) => kind === "UpdateOperation");
  const { source } = made.snapshots?.snapshots[0] ?? {};
  assert.ok(source);
  const recipe = { snapshot: "nightly-1", source, checksum: "a".repeat(64) };
  return { ...made, platform: { ...made.platform, namedSnapshots: { "nightly-1": { recipe } } } };
}

const only = ({ operations: [operation] }: Observation): OperationFacts => {
  assert.ok(operation);
  return operation;
};

/** Its snapshot is on the volume, and that is not noted yet. */
function fetched(observation: Observation): Observation {
  const waiting = asked(observation);
  const { task } = only(waiting);
  const plan = task.kind === "restore" ? (task.approve ?? "") : "";
  const source = { pvc: { claimName: "c", path: "s.db" } };
  const status = { phase: "Running" as const, startedAt: new Date(waiting.now).toISOString() };
  return {
    ...waiting,
    platform: { ...waiting.platform, fetched: { plan, source, sha256: "a", revision: 78 } },
    operations: [{ ...only(waiting), status }],
  };
}

/** The same, and noted: what comes next stops a member. */
function noted(observation: Observation): Observation {
  const ready = fetched(observation);
  const { act } = decide(ready);
  assert.ok(act);
  return after(ready, act.action);
}

const approved = preferring();
const healed = ({ platform, operations }: Observation): Observation => ({
  ...healthy(),
  platform,
  operations,
});

test("it ends where the members hold something else by then, or quorum is back; no member was stopped", () => {
  const ready = fetched(approved);
  assert.equal(next(asked(approved)), `start operation ${only(ready).name}`);
  assert.equal(next(ready), `step operation ${only(ready).name}`);
  assert.deepEqual(ending(holding(ready, "demo-1", { index: 101 })), ["Failed", "PlanChanged"]);
  assert.deepEqual(ending(healed(ready)), ["Failed", "QuorumNotLost"]);
});

test("it waits until it is known what they hold, and says so", () => {
  for (const known of [fetched(approved), noted(approved)]) {
    const reading = unread(known, "demo-1");
    assert.equal(next(reading), "nothing");
    const hold = decide(reading).holds.find(({ code }) => code === "RecoveryReads");
    assert.match(hold?.message ?? "", /reads what the volume.* of demo-1/);
  }
});

test("a member whose claim is gone has nothing to be read: another log that comes back changes the plan all the same", () => {
  // A person may approve what nobody approves without one.
  const lost = (o: Observation) => change(o, "demo-3", { volume: { state: "absent" }, directory: undefined });
  assert.equal(planOf(lost(approved))?.hash, planOf(approved)?.hash);
  const without = lost(fetched(approved));
  assert.equal(next(without), `step operation ${only(without).name}`, "as long as the plan is the same");
  const longer = { index: 200, revision: 120 };
  const back = holding(exited(without, "demo-2"), "demo-2", longer);
  assert.deepEqual(ending(back), ["Failed", "PlanChanged"]);
  const other = holding(without, "demo-1", { index: 101 });
  assert.deepEqual(ending(other), ["Failed", "PlanChanged"], "with a plan of another hash, too");
});

test("after the snapshot was noted the plan and quorum count up to the last member that is told to stop", () => {
  const stops = noted(approved);
  assert.match(next(stops), /demo-1/);
  assert.equal(decide(stops).act?.code, "RestoreStops");
  assert.deepEqual(ending(healed(stops)), ["Failed", "QuorumNotLost"]);
  assert.deepEqual(ending(holding(stops, "demo-1", { index: 101 })), ["Failed", "PlanChanged"]);
  const one = record(stops, "demo-1", { run: false });
  assert.deepEqual(ending(holding(one, "demo-1", { index: 101 })), ["Failed", "PlanChanged"]);
  const all = ["demo-1", "demo-2", "demo-3"].reduce((o, name) => record(o, name, { run: false }), stops);
  assert.equal(decide(unread(all, "demo-1")).act?.code, "RestoreStops", "then it goes on");
});

test("when it begins anew is remembered, so that no other recovery follows at once", () => {
  const mark = until(noted(approved), ({ kind }) => kind === "MarkCluster");
  const { act } = decide(mark);
  assert.ok(act?.action.kind === "MarkCluster");
  assert.equal(act.action.change.recovered?.at, mark.now);
});

test("it is not rejected because of a directory that is only being read", () => {
  const reading = unread(asked(approved), "demo-1");
  assert.equal(next(reading), "nothing");
  assert.equal(only(reading).status.phase, undefined);
  assert.deepEqual(ending(holding(asked(approved), "demo-1", { index: 101 })), ["Rejected", "PlanChanged"]);
});

test("what is not fetched in half an hour gives way to the survivor, if that may be taken without a person", () => {
  const running = (spec: object = {}): Observation => {
    const { platform, ...waiting } = fetched(preferring({}, spec));
    const { fetched: _not, ...rest } = platform;
    const fetch = {
      plan: platform.fetched?.plan ?? "",
      attempt: 1,
      state: "running",
      why: "no node",
    } as const;
    return { ...waiting, platform: { ...rest, fetch } };
  };
  const later = (o: Observation, minutes: number) => ({ ...o, now: o.now + minutes * 60_000 });
  assert.equal(next(later(running(), 30)), "nothing");
  const { act } = decide(later(running(), 31));
  assert.ok(act?.action.kind === "UpdateOperation");
  const { phase, reason, message = "" } = act.action.status;
  assert.deepEqual([phase, reason], ["Failed", "StepFailed"]);
  assert.match(message, /was not fetched within 30 minutes.*no data was changed: no node/);
  const ended = after(later(running(), 31), act.action);
  assert.match(next(ended), /^create operation demo-auto-.*-2$/);
  const { act: taken } = decide(ended);
  assert.ok(taken?.action.kind === "CreateOperation");
  assert.equal(taken.action.restore, undefined, "the survivor");
  // Who asked for it personally, or has nothing else that may be taken, goes on waiting.
  const mine = { ...running(), operations: [{ ...only(running()), name: "mine" }] };
  assert.equal(next(later(mine, 31)), "nothing");
  const newer = { ...running(), etcd: { ...running().etcd, highestRevision: 90 } };
  assert.equal(next(later(newer, 31)), "nothing", "it would lose more than the spec allows");
  const withQuorum = later(healed(running()), 31);
  assert.equal(next(withQuorum), "nothing", "while they serve there is time");
});

test("on one machine a snapshot that needs a Secret cannot be taken, and is not proposed", () => {
  const own = onMachine(approved);
  const taken = own.snapshots?.snapshots[0];
  assert.ok(taken);
  const withKey = { ...taken, spec: { ...taken.spec, encryption: { keySecret: "key" } } };
  const of = (snapshot: typeof taken) => recoveryOf(viewOf({ ...own, snapshots: { snapshots: [snapshot] } }));
  assert.ok(of(taken)?.snapshot?.plan !== undefined && of(taken)?.preferred === "Snapshot");
  assert.equal(of(withKey)?.snapshot?.plan, undefined);
  assert.deepEqual([of(withKey)?.snapshot?.name, of(withKey)?.preferred], ["nightly-1", "Survivor"]);
});

test("what is preferred is told also where a snapshot has more that cannot be restored", () => {
  const taken = approved.snapshots?.snapshots[0];
  assert.ok(taken);
  const { source: _nowhere, ...lost } = taken;
  const clusterID = approved.cluster.marks.established?.clusterID;
  const incremental = { clusterID, revision: 77, reason: "Following", message: "It records." };
  const schedule = scheduleNamed("nightly", { spec: { incremental: {} }, status: { incremental } });
  const recoveryWith = (snapshot: typeof lost) =>
    recoveryOf(viewOf({ ...approved, snapshots: { snapshots: [snapshot], schedules: [schedule] } }));
  assert.deepEqual(
    [recoveryWith(taken)?.preferred, recoveryWith(taken)?.pointInTime],
    ["Snapshot", undefined],
  );
  assert.deepEqual(
    [recoveryWith(lost)?.preferred, recoveryWith(lost)?.pointInTime?.revision],
    ["PointInTime", 77],
  );
});

test("what the survivor may hold beyond what was seen is lost by restoring something older", () => {
  const lostBy = (o: Observation) => recoveryOf(viewOf(o))?.snapshot?.lostRevisions;
  const more = holding(approved, "demo-1", { replay: 4 });
  assert.deepEqual([lostBy(approved), lostBy(more)], [2, 6], "80 were seen, and its log goes up to 84");
  const { act } = decide(more);
  assert.ok(act?.action.kind === "CreateOperation");
  assert.equal(act.action.restore, undefined, "that is too much, and the survivor is taken");
});
