import assert from "node:assert/strict";
import { test } from "node:test";
import { decide } from "../decide.ts";
import type { Observation, OperationFacts } from "../observation.ts";
import { change, edit, exited } from "../testing/cluster.ts";
import { recoveryOf } from "../status/recovery.ts";
import { operationOf } from "../testing/operations.ts";
import {
  automatic,
  ending,
  goneFor,
  hash,
  holding,
  next,
  planOf,
  preferring,
  task,
  until,
  world,
} from "../testing/quorum-loss.ts";
import { scheduleNamed } from "../testing/snapshots.ts";
import { viewOf } from "../view.ts";

const MINUTE_MS = 60_000;

const remedy = (observation: Observation) => decide(observation).holds.at(-1)?.next ?? "";

test("nobody approves a plan but a person, unless the spec says so", () => {
  assert.equal(next(world), "nothing");
  assert.equal(next(edit(automatic(), { recovery: { quorumLoss: "Manual" } })), "nothing");
  assert.equal(next(edit(automatic(), { recovery: undefined })), "nothing");
});

test("the plan is approved by an operation that carries it out, and that is said", () => {
  const { act } = decide(automatic());
  assert.deepEqual(act?.action, {
    kind: "CreateOperation",
    operation: `demo-auto-${hash}-1`,
    approve: hash,
  });
  assert.match(act.message, /because spec\.recovery\.quorumLoss is Automatic.*at most 0 of the revisions/);
  const rescue = until(automatic(), ({ kind }) => kind === "RescueData");
  assert.equal(rescue.operations.length, 1, "and it is approved once");
  const mark = until(rescue, ({ kind }) => kind === "MarkCluster");
  const { act: begins } = decide(mark);
  assert.ok(begins?.action.kind === "MarkCluster");
  assert.equal(begins.action.change.recovered?.at, mark.now);
});

test("data that may still be somewhere is not given up: damaged, unreachable, or served by one that forgot it", () => {
  const doubts: Record<string, (o: Observation) => Observation> = {
    damaged: (o) =>
      change(exited(o, "demo-3", "data-corrupt"), "demo-3", {
        directory: { state: "damaged", why: "torn" },
      }),
    unreachable: (o) =>
      change(exited(o, "demo-3"), "demo-3", {
        workload: { state: "absent" },
        directory: { state: "unreachable", why: "not mounted" },
      }),
    "its Node was deleted": (o) =>
      change(exited(o, "demo-3"), "demo-3", {
        workload: { state: "absent" },
        directory: undefined,
        volume: { state: "unreachable", uid: "volume", reason: "its node node-c no longer exists" },
      }),
    "its claim was deleted": (o) => change(o, "demo-3", { volume: { state: "absent" } }),
    "its claim is another one": (o) => change(o, "demo-3", { volume: { state: "ready", uid: "another" } }),
    "its data came back": (o) => holding(o, "demo-3", { clusterID: "0000000000000bad", term: 9 }),
    forgot: (o) => change(o, "demo-3", { forgot: { evidence: "revision 1", seenRevision: 90 } }),
  };
  for (const [name, doubt] of Object.entries(doubts)) {
    const since = doubt(automatic());
    assert.ok(planOf(since), name);
    assert.equal(next(since), "nothing", name);
    assert.match(remedy(since), /not proven that the data of demo-3 is gone/, name);
  }
});

test("no more revisions are given up than the spec allows, and none where their number is not known", () => {
  const behind = { ...automatic(), etcd: { ...automatic().etcd, highestRevision: 95 } };
  assert.equal(next(behind), "nothing");
  assert.match(remedy(behind), /up to 15 revisions would be lost, and spec\.recovery\.maxLostRevisions is 0/);
  const allowed = edit(behind, { recovery: { quorumLoss: "Automatic", maxLostRevisions: 15 } });
  assert.match(next(allowed), /^create operation/);
  const unknown = { ...allowed, etcd: { ...allowed.etcd, highestRevision: 0 } };
  assert.equal(next(unknown), "nothing");
  assert.match(remedy(unknown), /how many revisions would be lost is not known/);
});

test("the number of lost revisions is known only if quorum was seen until seconds before the loss", () => {
  const seen = (quorumSeenAt: number | undefined) => {
    const { quorumSeenAt: _seen, ...etcd } = automatic({ maxLostRevisions: 1_000 }).etcd;
    const times = quorumSeenAt === undefined ? {} : { quorumSeenAt };
    return { ...automatic({ maxLostRevisions: 1_000 }), etcd: { ...etcd, ...times } };
  };
  const goneSince = world.now - 6 * MINUTE_MS;
  assert.match(next(seen(goneSince - 15_000)), /^create operation/);
  for (const unknown of [seen(goneSince - 15_001), seen(undefined)]) {
    assert.equal(planOf(unknown)?.lost, undefined);
    assert.equal(next(unknown), "nothing");
    assert.match(remedy(unknown), /how many revisions would be lost is not known/);
  }
  const later = change(seen(goneSince), "demo-3", { goneSince: goneSince + 60_000 });
  assert.equal(planOf(later)?.lost, undefined, "until then demo-1 and demo-3 may have had quorum");
});

test("lost data has time to come back", () => {
  const down = { unhealthySince: world.now - 60 * MINUTE_MS };
  const early = change(goneFor(automatic(), 4 * MINUTE_MS), "demo-2", down);
  assert.equal(next(early), "nothing");
  assert.match(remedy(early), /approves the plan at .*unless lost data comes back/);
  assert.equal(decide(early).lookAgainAt, world.now + MINUTE_MS);
  const fresh = ["demo-2", "demo-3"].reduce((o, name) => change(o, name, { goneSince: o.now }), early);
  assert.equal(next(fresh), "nothing", "it begins with the proof, not when the member went down");
  const back = holding(exited(early, "demo-2"), "demo-2");
  assert.equal(next({ ...back, now: back.now + 10 * MINUTE_MS }), "nothing", "a majority has its data");
});

test("what would be rejected is not approved, and is said", () => {
  const newer = edit(automatic(), { version: "3.7.3" });
  assert.equal(next(newer), "nothing");
  assert.match(remedy(newer), /was written by etcd .*: set spec\.version to that minor version/);
  const refused = { ...automatic().platform, recoveryRefused: "they are in memory" };
  assert.match(remedy({ ...automatic(), platform: refused }), /they are in memory/);
});

test("not twice within an hour, however the first one ended, and not beside a person's", () => {
  const at = new Date(world.now - 30 * MINUTE_MS).toISOString();
  const failed = operationOf(task, { status: { phase: "Failed", startedAt: at, completedAt: at } });
  const again = { ...automatic(), operations: [failed] };
  assert.equal(next(again), "nothing");
  assert.match(remedy(again), /another recovery began less than an hour before/);
  const later = { ...again, now: again.now + 31 * MINUTE_MS };
  assert.equal(next(later), `create operation demo-auto-${hash}-1`);
  const named = (...numbers: number[]) =>
    numbers.map((n) => ({ ...failed, name: `demo-auto-${hash}-${n}`, uid: `uid ${n}` }));
  const second = { ...later, operations: named(2) };
  assert.equal(next(second), `create operation demo-auto-${hash}-3`, "also when an earlier one was deleted");
  const often = { ...later, operations: named(2, 3, 4) };
  assert.equal(next(often), "nothing");
  assert.match(remedy(often), /it did so 3 times/);
  const { marks } = world.cluster;
  const recovered = { plan: "0", operation: "deleted", revision: 1, at: world.now - MINUTE_MS };
  const restore = { source: { file: { path: "/snapshot.db" } } };
  const forgotten = automatic();
  const cluster = { ...forgotten.cluster, marks: { ...marks, recovered: { ...recovered, restore } } };
  assert.equal(next({ ...forgotten, cluster }), "nothing", "also when the operation was deleted");
  const wrong = operationOf({ kind: "recoverQuorum", approve: "0123456789abcdef" }, { name: "mine" });
  assert.deepEqual(ending({ ...automatic(), operations: [wrong] }), ["Rejected", "PlanChanged"]);
});

test("a snapshot that the spec prefers is approved, as the alternative to this very plan", () => {
  const { act } = decide(preferring());
  assert.ok(act?.action.kind === "CreateOperation");
  const { restore, operation, approve } = act.action;
  assert.deepEqual(restore, { snapshot: "nightly-1", recovery: planOf(preferring())?.hash });
  assert.match(operation, /^demo-auto-[0-9a-f]{16}-1$/);
  assert.equal(approve, recoveryOf(viewOf(preferring()))?.snapshot?.plan);
  assert.match(act.message, /approving the restore of EtcdSnapshot nightly-1, with revision 78/);
  const survivor = decide(preferring({}, { prefer: "Survivor" })).act;
  assert.ok(survivor?.action.kind === "CreateOperation");
  assert.equal(survivor.action.restore, undefined);
});

test("one that was not verified, lacks too much or is of another version is left to a person, and the survivor is taken", () => {
  for (const change of [
    { verifiedAt: undefined },
    { revision: 70 },
    { etcdVersion: "3.5.21" },
    { clusterID: "abc" },
  ]) {
    const { act } = decide(preferring(change));
    assert.ok(act?.action.kind === "CreateOperation", JSON.stringify(change));
    assert.equal(act.action.restore, undefined, JSON.stringify(change));
  }
  const doubtful = change(preferring(), "demo-3", { forgot: { evidence: "revision 1", seenRevision: 90 } });
  assert.equal(next(doubtful), "nothing", "what is proven counts for both");
});

test("what failed once is not tried again: then the survivor is taken", () => {
  const at = new Date(world.now - 90 * MINUTE_MS).toISOString();
  const observation = preferring();
  const recovery = planOf(observation)?.hash ?? "";
  const restore = { kind: "restore", snapshot: "nightly-1", recovery, approve: hash } as const;
  const failed = (completedAt: string) =>
    operationOf(restore, { name: `demo-auto-${recovery}-1`, status: { phase: "Failed", completedAt } });
  const noted = (operation: OperationFacts) => {
    const steps = [{ at, message: "fetched" }];
    return { ...operation, status: { ...operation.status, steps } };
  };
  const { act } = decide({ ...observation, operations: [noted(failed(at))] });
  assert.ok(act?.action.kind === "CreateOperation");
  assert.deepEqual([act.action.operation, act.action.restore], [`demo-auto-${recovery}-2`, undefined]);
  const recent = failed(new Date(world.now - MINUTE_MS).toISOString());
  const within = (operation: OperationFacts) => next({ ...observation, operations: [operation] });
  assert.equal(within(noted(recent)), "nothing", "and not within the hour");
  assert.match(within(recent), /^create operation .*-2$/, "but at once, if no member can have been stopped");
  const other = { ...recent, task: { ...restore, recovery: "0123456789abcdef" } };
  assert.equal(within(other), "nothing", "one for another plan counts");
});

test("what was recorded beyond the newest snapshot is taken before it, and is built first", () => {
  const observation = preferring();
  const clusterID = observation.cluster.marks.established?.clusterID;
  const incremental = { clusterID, revision: 80, reason: "Following", message: "It records." };
  const schedule = scheduleNamed("nightly", { spec: { incremental: {} }, status: { incremental } });
  const snapshots = { snapshots: observation.snapshots?.snapshots ?? [], schedules: [schedule] };
  const { act } = decide({ ...observation, snapshots });
  assert.ok(act?.action.kind === "CreateOperation");
  const pointInTime = { revision: 80, clusterID, schedule: "nightly" };
  assert.deepEqual(act.action.restore, { pointInTime, recovery: planOf(observation)?.hash });
  const { preferred, pointInTime: told } = recoveryOf(viewOf({ ...observation, snapshots })) ?? {};
  assert.deepEqual([preferred, told?.plan], ["PointInTime", act.action.approve]);
});
