import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { EtcdSnapshotScheduleStatus } from "../../api/etcd-snapshot-schedule.ts";
import { NOW } from "../testing/cluster.ts";
import { briefly, decided, scheduleNamed, snapshotNamed, worldOf } from "../testing/snapshots.ts";
import type { ScheduleFacts } from "./facts.ts";
import { followerTurn } from "./follower.ts";
import type { FollowerFacts, FollowReport } from "./follower-facts.ts";
import type { SnapshotWorld } from "./world.ts";

const CLUSTER = {
  is: "present",
  uid: "cluster-uid",
  deleting: false,
  sources: ["https://demo-1.demo:2379"],
  endpoints: ["https://demo-1.demo:2379", "https://demo-2.demo:2379"],
  hibernated: false,
} as const;
const WORLD: Partial<SnapshotWorld> = { cluster: CLUSTER, followsWith: "quorate:1" };
const ago = (ms: number) => new Date(NOW - ms).toISOString();

const recording = (change: Parameters<typeof scheduleNamed>[1] = {}) =>
  scheduleNamed("nightly", { ...change, spec: { incremental: { interval: "10s" }, ...change.spec } });

const turn = (schedule: ScheduleFacts, change: Partial<SnapshotWorld> = {}) =>
  followerTurn(schedule, worldOf([], { ...WORLD, ...change }));

/** The follower that is started for it. */
function started(schedule: ScheduleFacts, change: Partial<FollowerFacts> = {}): FollowerFacts {
  const [effect] = turn({ ...schedule, followers: [] })?.effects ?? [];
  assert.ok(effect?.kind === "StartFollower", JSON.stringify(effect));
  const { recipe, attempt } = effect;
  return { name: "f", uid: "f-uid", recipe, attempt, state: { is: "running" }, ...change };
}

function reporting(report: FollowReport, status: EtcdSnapshotScheduleStatus = {}) {
  const schedule = recording({ status });
  return turn({ ...schedule, followers: [started(schedule, { state: { is: "running", report } })] });
}

describe("a schedule that records changes", () => {
  test("has one follower of all voters that have joined, under a name of its own", () => {
    const { effects = [], status } = turn(recording()) ?? {};
    const [effect] = effects;
    assert.ok(effect?.kind === "StartFollower");
    assert.deepEqual([effect.attempt, effect.endpoints], [1, CLUSTER.endpoints]);
    assert.equal(status?.reason, "Starting");
    const schedule = recording();
    assert.deepEqual(turn({ ...schedule, followers: [started(schedule)] })?.effects, []);
    assert.equal(turn(scheduleNamed("plain")), undefined);
  });

  test("gets another one for another spec, image or membership, when the former has stopped or does not stop", () => {
    const schedule = recording();
    const follower = started(schedule);
    const followed = { ...schedule, followers: [follower] };
    const others: Partial<SnapshotWorld>[] = [
      { followsWith: "quorate:2" },
      { cluster: { ...CLUSTER, endpoints: ["https://demo-1.demo:2379"] } },
    ];
    const respecified = recording({ spec: { incremental: { interval: "20s" } }, followers: [follower] });
    for (const other of [...others.map((change) => turn(followed, change)), turn(respecified)])
      assert.deepEqual(
        other?.effects.map(({ kind }) => kind),
        ["StopFollower"],
      );
    const stopping = (stoppingMs: number) =>
      turn({ ...respecified, followers: [{ ...follower, stoppingMs }] });
    assert.deepEqual(stopping(5_000)?.effects, []);
    assert.equal(stopping(5_000)?.at, NOW + 55_000);
    const [next] = stopping(61_000)?.effects ?? [];
    assert.ok(next?.kind === "StartFollower");
    assert.equal(next.attempt, 2, "its name is still taken");
  });

  test("stops it while suspended, hibernated, invalid, deleted, or without a cluster, and never for want of an answer", () => {
    const follower = started(recording());
    const kinds = (change: Parameters<typeof scheduleNamed>[1], world: Partial<SnapshotWorld> = {}) =>
      turn(recording({ followers: [follower], ...change }), world)?.effects.map(({ kind }) => kind);
    assert.deepEqual(kinds({ spec: { suspend: true } }), ["StopFollower"]);
    assert.deepEqual(kinds({ invalid: "no" }), ["StopFollower"]);
    assert.deepEqual(kinds({ deleting: true }), ["StopFollower"]);
    assert.deepEqual(kinds({}, { cluster: { is: "absent" } }), ["StopFollower"]);
    assert.deepEqual(kinds({}, { cluster: { ...CLUSTER, hibernated: true } }), ["StopFollower"]);
    assert.deepEqual(kinds({}, { cluster: { ...CLUSTER, sources: [] } }), []);
    assert.deepEqual(kinds({}, { cluster: { is: "invalid", uid: "u", why: "no" } }), []);
    const blocked = { reason: "CertificatePending", message: "waiting for it" } as const;
    assert.deepEqual(kinds({ followers: [] }, { blocked }), []);
    assert.equal(turn(recording(), { blocked })?.status?.message, "Waiting for it.");
  });

  test("replaces one that ended for good, and tells why one cannot be made", () => {
    const schedule = recording();
    const ended = started(schedule, { state: { is: "ended", why: "evicted" } });
    const [next, ...more] = turn({ ...schedule, followers: [ended] })?.effects ?? [];
    assert.ok(next?.kind === "StartFollower");
    assert.deepEqual([next.attempt, more], [2, []], "it stays until the next one is there: it counts");
    const second = started(schedule, { uid: "second", attempt: 2 });
    assert.deepEqual(
      turn({ ...schedule, followers: [ended, second] })?.effects.map((effect) => effect.kind),
      ["StopFollower"],
    );
    const refused = turn({ ...schedule, followerFailure: "quota" });
    assert.equal(refused?.status?.reason, "FollowerRefused");
    assert.equal(refused?.effects[0]?.kind, "StartFollower");
  });

  test("makes one that ends again and again ever more seldom, and says when", () => {
    const schedule = recording();
    const after = (attempt: number, forMs: number, ranMs = 1_000) => {
      const state = { is: "ended", why: "evicted", forMs, ranMs } as const;
      return turn({ ...schedule, followers: [started(schedule, { attempt, state })] });
    };
    assert.deepEqual(after(1, 4_000)?.effects, []);
    assert.equal(after(1, 4_000)?.at, NOW + 6_000);
    assert.match(after(1, 4_000)?.status?.message ?? "", /^Evicted; the next one is created at /);
    assert.equal(after(1, 4_000)?.status?.reason, "FollowerFailed");
    assert.equal(after(1, 10_000)?.effects[0]?.kind, "StartFollower");
    assert.equal(after(3, 10_000)?.at, NOW + 30_000);
    assert.equal(after(40, 0)?.at, NOW + 300_000, "not longer than that");
    assert.equal(after(40, 10_000, 600_000)?.effects[0]?.kind, "StartFollower", "one that had run well");
  });

  test("tells up to where and when a restore is possible, in few writes", () => {
    const report = { state: "following", clusterID: "abc", revision: 20, time: ago(5_000) } as const;
    const { status, verdict } = reporting(report) ?? {};
    assert.deepEqual([status?.reason, status?.revision, verdict?.status], ["Following", 20, "True"]);
    assert.ok(status);
    const later = (change: Partial<FollowReport>) =>
      reporting({ ...report, ...change }, { incremental: status })?.status;
    assert.deepEqual(later({ time: ago(0) }), status, "the same revision a moment later");
    assert.equal(later({ time: ago(0), revision: 21 })?.revision, 20, "not every change is a write");
    assert.equal(later({ time: ago(-60_000), revision: 21 })?.revision, 21);
    assert.equal(later({ time: ago(90_000), revision: 19 })?.revision, 20, "one that was started again");
    assert.equal(later({ clusterID: "def", revision: 3, time: ago(0) })?.revision, 3, "another life");
    assert.equal(
      turn(recording({ status: { incremental: status }, spec: { suspend: true } }))?.status?.revision,
      20,
    );
  });

  test("is behind when nothing was recorded for long, or nobody can tell", () => {
    const old = {
      state: "following",
      revision: 20,
      time: ago(130_000),
      problem: "the store is full",
    } as const;
    const { status, verdict } = reporting(old) ?? {};
    assert.deepEqual([status?.reason, verdict?.status], ["Behind", "False"]);
    assert.match(status?.message ?? "", /the store is full/);
    const schedule = recording({
      status: { incremental: { reason: "Following", message: "", time: ago(130_000), revision: 20 } },
    });
    const silent = turn({ ...schedule, followers: [started(schedule)] });
    assert.equal(silent?.status?.reason, "Behind");
    assert.equal(silent?.status?.revision, 20);
    const never = (forMs: number) =>
      turn(recording({ followers: [started(recording(), { state: { is: "running", forMs } })] }))?.status;
    assert.equal(never(60_000)?.reason, "Starting");
    assert.equal(never(121_000)?.reason, "Behind");
    assert.match(never(121_000)?.message ?? "", /port 2381/);
  });

  test("is not behind because the follower was started again where nothing changes", () => {
    const incremental = { reason: "Following" as const, message: "", time: ago(70_000), revision: 20 };
    const again = { state: "following", revision: 20, time: ago(900_000) } as const;
    assert.equal(reporting(again, { incremental })?.status?.reason, "Following");
    const reported = reporting({ ...again, time: ago(5_000) }, { incremental })?.status;
    assert.equal(reported?.time, ago(5_000).replace(".000Z", "Z"), "well before it would be behind");
  });

  test("takes a snapshot when the follower needs one, one in five minutes, and none beside one that is being taken", () => {
    const schedule = recording();
    const report = { state: "awaits-base", needs: "auth" } as const;
    const follower = started(schedule, { state: { is: "running", report } });
    const followed = { ...schedule, followers: [follower], status: { observedGeneration: 1 } };
    const kinds = (snapshots: Parameters<typeof decided>[0]) =>
      briefly(decided(snapshots, { ...WORLD, schedules: [followed] })).filter(
        (one) => one === "CreateSnapshot",
      );
    const own = (ms: number, phase: "Succeeded" | "Running") =>
      snapshotNamed("nightly-1", { schedule: schedule.uid, createdAt: NOW - ms, status: { phase } });
    assert.deepEqual(kinds([]), ["CreateSnapshot"]);
    assert.deepEqual(kinds([own(60_000, "Succeeded")]), []);
    assert.deepEqual(kinds([own(301_000, "Succeeded")]), ["CreateSnapshot"]);
    assert.deepEqual(kinds([own(301_000, "Running")]), []);
    const bases = (...minutes: number[]) =>
      minutes.map((ago) => ({ ...own(ago * 60_000, "Succeeded"), name: `nightly-${ago}-b` }));
    assert.deepEqual(kinds(bases(6)), ["CreateSnapshot"], "one for a while");
    assert.deepEqual(kinds(bases(16, 6)), [], "after twice the time");
    assert.deepEqual(kinds(bases(26, 21)), ["CreateSnapshot"]);
    assert.deepEqual(kinds(bases(119, 59)), [], "within an hour");
    assert.deepEqual(kinds(bases(119, 61)), ["CreateSnapshot"]);
    assert.deepEqual(kinds(bases(1_000, 6)), ["CreateSnapshot"], "long after the last time");
    const [effect] = decided([], { ...WORLD, schedules: [followed] }).effects;
    assert.ok(effect?.kind === "CreateSnapshot" && effect.base);
    assert.match(turn(followed)?.status?.message ?? "", /^Users or roles changed/);
  });
});
