import assert from "node:assert/strict";
import { describe, test } from "node:test";
import fc from "fast-check";
import type { EtcdSnapshotStatus } from "../../api/etcd-snapshot.ts";
import type { VerificationPhase } from "../../api/status-words.ts";
import { backedUp } from "../status/backed-up.ts";
import { timestamp } from "../status/condition.ts";
import { healthy } from "../testing/cluster.ts";
import { decided, scheduleNamed, snapshotNamed } from "../testing/snapshots.ts";
import { viewOf } from "../view.ts";
import type { ScheduleFacts, SnapshotFacts } from "./facts.ts";
import { freshnessOf, pruned, scheduledName, scheduleTurn } from "./schedule.ts";

const HOUR = 3_600_000;
const DAY = 24 * HOUR;
const START = Date.UTC(2026, 0, 1, 0, 30);

const hourly = (change: Parameters<typeof scheduleNamed>[1] = {}) =>
  scheduleNamed("hourly", { createdAt: START, ...change });

function taken(
  schedule: ScheduleFacts,
  at: number,
  phase: EtcdSnapshotStatus["phase"] = "Succeeded",
): SnapshotFacts {
  const name = scheduledName(schedule, at);
  const status = { phase, startedAt: timestamp(at) };
  return snapshotNamed(name, { schedule: schedule.uid, createdAt: at, status });
}

/** A verification that succeeded says when; a later one takes that back only where it finds damage. */
function verifiedAs(one: SnapshotFacts, phase: VerificationPhase): SnapshotFacts {
  const at = timestamp(one.createdAt + 60_000);
  const verification = { request: "spec", phase, reason: "", message: "", completedAt: at };
  const status = { ...one.status, verification, ...(phase === "Succeeded" && { verifiedAt: at }) };
  return { ...one, status };
}

const turn = (schedule: ScheduleFacts, snapshots: readonly SnapshotFacts[], now: number) =>
  scheduleTurn(schedule, { now, snapshots, isThere: true });

describe("a schedule", () => {
  test("makes a snapshot when it is due, once, and tells", () => {
    const schedule = hourly();
    const early = turn(schedule, [], START + 60_000);
    assert.equal(early.effect?.kind, "UpdateSchedule");
    assert.equal(early.at, START + HOUR / 2);
    const due = START + HOUR / 2;
    const { effect } = turn(schedule, [], due + 5_000);
    assert.ok(effect?.kind === "CreateSnapshot");
    assert.equal(effect.at, due);
    // Made, but not told yet: the operator died in between.
    const made = { ...taken(schedule, due), status: {} };
    const next = turn(schedule, [made], due + 6_000);
    assert.ok(next.effect?.kind === "UpdateSchedule");
    assert.equal(next.effect.status.lastScheduled, timestamp(due));
    const reported = { ...schedule, status: next.effect.status };
    const after = turn(reported, [made], due + 7_000);
    assert.ok(after.effect?.kind === "UpdateSchedule");
    assert.equal(after.effect.status.active, made.name);
    assert.equal(turn({ ...reported, status: after.effect.status }, [made], due + 8_000).effect, undefined);
  });

  test("takes the last one of those that it missed, or none after its deadline", () => {
    const now = START + 9 * HOUR;
    const { effect } = turn(hourly(), [], now);
    assert.ok(effect?.kind === "CreateSnapshot");
    assert.equal(effect.at, START + 8.5 * HOUR);
    const strict = hourly({ spec: { startingDeadlineSeconds: 600 } });
    const missed = turn(strict, [], now);
    assert.ok(missed.effect?.kind === "UpdateSchedule");
    const { reason, lastScheduled } = missed.effect.status;
    assert.deepEqual([reason, lastScheduled], ["Missed", timestamp(START + 8.5 * HOUR)]);
  });

  test("waits for the one before, and then makes the one that is due", () => {
    const schedule = hourly({ status: { lastScheduled: timestamp(START + HOUR / 2) } });
    const now = START + 1.5 * HOUR + 1_000;
    const running = taken(schedule, START + HOUR / 2, "Running");
    assert.notEqual(turn(schedule, [running], now).effect?.kind, "CreateSnapshot");
    assert.equal(turn(schedule, [taken(schedule, START + HOUR / 2)], now).effect?.kind, "CreateSnapshot");
  });

  test("tells why its snapshot cannot be created, retries it, and deletes what the retention does not keep", () => {
    const refused = hourly({
      spec: { retention: { keepLast: 1 } },
      failure: "exceeded quota: etcdsnapshots",
    });
    const now = START + 9 * HOUR;
    const old = [taken(refused, START + HOUR / 2), taken(refused, START + 1.5 * HOUR)];
    const { effect, also = [] } = turn(refused, old, now);
    assert.ok(effect?.kind === "UpdateSchedule");
    const { reason, message = "", conditions = [] } = effect.status;
    assert.equal(reason, "SnapshotRefused");
    assert.match(message, /hourly-\d+ cannot be created: exceeded quota: etcdsnapshots/);
    assert.equal(conditions.find(({ type }) => type === "Ready")?.status, "False");
    const kinds = (effects: readonly { kind: string }[]) => effects.map(({ kind }) => kind);
    assert.deepEqual(kinds(also), ["PruneSnapshot", "CreateSnapshot"]);
    const reported = turn({ ...refused, status: effect.status }, old, now);
    assert.deepEqual(
      [reported.effect, kinds(reported.also ?? [])],
      [undefined, ["PruneSnapshot", "CreateSnapshot"]],
    );
    const { failure: _none, ...asked } = refused;
    assert.equal(turn(asked, old, now).effect?.kind, "CreateSnapshot", "nothing is known of a failure");
  });

  test("does nothing while it is suspended, invalid, deleted, or its cluster is gone", () => {
    const now = START + 9 * HOUR;
    const reasonOf = (schedule: ScheduleFacts, isThere = true) => {
      const { effect } = scheduleTurn(schedule, { now, snapshots: [], isThere });
      return effect?.kind === "UpdateSchedule" ? effect.status.reason : effect?.kind;
    };
    assert.equal(reasonOf(hourly({ spec: { suspend: true } })), "Suspended");
    assert.equal(reasonOf(hourly({ spec: { schedule: "61 * * * *" } })), "InvalidSchedule");
    assert.equal(reasonOf(hourly({ spec: { timeZone: "Europe/Atlantis" } })), "InvalidSchedule");
    assert.equal(reasonOf(hourly(), false), "ClusterNotFound");
    assert.equal(reasonOf(hourly({ deleting: true })), undefined);
  });

  test("is decided on beside the snapshots of its cluster, and wakes in time", () => {
    const { effects, lookAgainAt } = decided([], { schedules: [hourly()], now: START });
    assert.deepEqual(
      effects.map(({ kind }) => kind),
      ["UpdateSchedule"],
    );
    assert.equal(lookAgainAt, START + HOUR / 2);
  });

  test("tells the newest good one, what was lost at most, and how many there are", () => {
    const schedule = hourly({ status: { lastScheduled: timestamp(START + 2.5 * HOUR) } });
    const own = [taken(schedule, START + 0.5 * HOUR), taken(schedule, START + 2.5 * HOUR)];
    const { effect } = turn(schedule, own, START + 2.6 * HOUR);
    assert.ok(effect?.kind === "UpdateSchedule");
    const { lastSuccessful, rpo, kept, next } = effect.status;
    assert.deepEqual(
      [lastSuccessful, rpo, kept, next],
      [timestamp(START + 2.5 * HOUR), "2h0m0s", 2, timestamp(START + 3.5 * HOUR)],
    );
  });
});

describe("a schedule with spec.verify", () => {
  const weekly = hourly({ spec: { verify: { schedule: "0 5 * * SUN" } } });
  // 2026-01-04 is a Sunday.
  const sunday = Date.UTC(2026, 0, 4, 5);
  const reported = { lastScheduled: timestamp(sunday), next: timestamp(sunday + HOUR) };

  test("asks for a verification of the newest good snapshot, once for each time", () => {
    const own = [taken(weekly, sunday - HOUR), taken(weekly, sunday), taken(weekly, sunday, "Failed")];
    const schedule = { ...weekly, status: reported };
    const { effect, at } = turn(schedule, own, sunday + 60_000);
    assert.ok(effect?.kind === "RequestVerification");
    assert.deepEqual([effect.snapshot.name, effect.request], [own[1]?.name, timestamp(sunday)]);
    assert.equal(at, sunday + HOUR);
    // Asked for, but not told yet: the operator died in between.
    const asked = own.map((one) => (one === own[1] ? { ...one, verifyRequest: timestamp(sunday) } : one));
    const next = turn(schedule, asked, sunday + 61_000);
    assert.ok(next.effect?.kind === "UpdateSchedule");
    const { status } = next.effect;
    assert.deepEqual(
      [status.lastVerificationScheduled, status.nextVerification],
      [timestamp(sunday), timestamp(sunday + 7 * DAY)],
    );
    assert.equal(turn({ ...schedule, status }, asked, sunday + 62_000).effect, undefined);
    const newer = [...asked, taken(weekly, sunday + HOUR)];
    const later = turn({ ...schedule, status }, newer, sunday + HOUR + 1);
    assert.notEqual(later.effect?.kind, "RequestVerification");
  });

  test("waits for a good snapshot, and tells what the last verification found", () => {
    const schedule = { ...weekly, status: reported };
    const none = turn(schedule, [taken(weekly, sunday, "Failed")], sunday + 60_000);
    assert.ok(none.effect?.kind === "UpdateSchedule");
    assert.equal(none.effect.status.lastVerificationScheduled, undefined);
    const one = taken(weekly, sunday);
    const status = { ...one.status, verifiedAt: timestamp(sunday + 5_000), rto: "12s" };
    const { effect } = turn(
      schedule,
      [{ ...one, status, verifyRequest: timestamp(sunday) }],
      sunday + 60_000,
    );
    assert.ok(effect?.kind === "UpdateSchedule");
    const { lastVerified, lastVerifiedSnapshot, rto } = effect.status;
    assert.deepEqual([lastVerified, lastVerifiedSnapshot, rto], [timestamp(sunday + 5_000), one.name, "12s"]);
  });

  test("that cannot be read is told as such", () => {
    const wrong = hourly({ spec: { verify: { schedule: "61 * * * *" } } });
    const { effect } = turn(wrong, [], START);
    assert.ok(effect?.kind === "UpdateSchedule" && effect.status.reason === "InvalidSchedule");
    assert.match(effect.status.message ?? "", /spec\.verify\.schedule/);
  });
});

describe("retention", () => {
  const schedule = hourly({ spec: { retention: { keepLast: 1 } } });

  test("never touches what a person or another schedule made, nor the newest good one", () => {
    const other = scheduleNamed("other");
    const foreign = [taken(other, START), snapshotNamed("by-hand", { status: { phase: "Succeeded" } })];
    const own = [taken(schedule, START + HOUR), taken(schedule, START + 2 * HOUR, "Failed")];
    assert.deepEqual(pruned(schedule, own), []);
    const { effect } = turn(schedule, [...foreign, ...own], START + 10_000);
    assert.notEqual(effect?.kind, "PruneSnapshot");
  });

  test("keeps everything without a policy, and the last failures for whoever asks why", () => {
    const many = Array.from({ length: 9 }, (_, i) => taken(schedule, START + i * HOUR, "Failed"));
    assert.equal(pruned(schedule, many).length, 6);
    assert.deepEqual(pruned(hourly(), many), []);
  });

  const base = (at: number, phase: EtcdSnapshotStatus["phase"] = "Succeeded"): SnapshotFacts => ({
    ...taken(schedule, at, phase),
    name: scheduledName(schedule, at, true),
    uid: `base-${at}`,
  });

  test("judges what was taken for the follower apart, and keeps none from before all others", () => {
    const daily = hourly({ spec: { schedule: "@daily", retention: { keepLast: 3 } } });
    const timed = Array.from({ length: 4 }, (_, i) => taken(schedule, START + i * DAY));
    const bases = Array.from({ length: 9 }, (_, i) => base(START + 3 * DAY + (i + 1) * 5 * 60_000));
    const gone = pruned(daily, [...timed, ...bases]);
    assert.deepEqual(gone, [timed[0], ...bases.slice(0, 6)]);
    const first = base(START - HOUR);
    assert.deepEqual(pruned(daily, [first]), [], "there is nothing else");
    assert.deepEqual(pruned(daily, [first, timed[0] as SnapshotFacts]), [first], "it would keep all changes");
    const two = [base(START + HOUR), base(START + 2 * HOUR)];
    const one = hourly({ spec: { retention: { keepLast: 1 } } });
    assert.deepEqual(pruned(one, [timed[0] as SnapshotFacts, ...two]), [], "they tell how long to wait");
  });

  test("without a policy, only the last of what was taken for the follower stays", () => {
    const timed = Array.from({ length: 40 }, (_, i) => taken(schedule, START + i * DAY));
    const bases = Array.from({ length: 30 }, (_, i) => base(START + i * DAY + HOUR));
    const failed = Array.from({ length: 5 }, (_, i) => base(START + i * DAY + 2 * HOUR, "Failed"));
    const gone = pruned(hourly(), [...timed, ...bases, ...failed]);
    assert.deepEqual(gone, [...failed.slice(0, 2), ...bases.slice(0, 6)]);
  });

  test("does not take one that a verification found damaged for the last good one", () => {
    const damaged = taken(schedule, START + 2 * HOUR);
    const status = { ...damaged.status, phase: "Failed", reason: "Damaged", uri: "s3://b/a" } as const;
    const own = [taken(schedule, START + HOUR), { ...damaged, status }];
    assert.deepEqual(pruned(schedule, own), []);
  });

  test("keeps the newest one that was found right while newer ones are not verified, or that failed", () => {
    const verifying = hourly({
      spec: { retention: { keepLast: 1 }, verify: { schedule: "@daily" } },
      status: { lastScheduled: timestamp(START + 3.5 * HOUR) },
    });
    const proven = (at: number) => verifiedAs(taken(verifying, at), "Succeeded");
    const [oldest, right] = [proven(START + 0.5 * HOUR), proven(START + 1.5 * HOUR)];
    const failed = verifiedAs(taken(verifying, START + 2.5 * HOUR), "Failed");
    const newest = taken(verifying, START + 3.5 * HOUR);
    const own = [oldest, right, failed, newest];
    assert.deepEqual(pruned(verifying, own), [oldest, failed]);
    const { effect } = turn(verifying, own, START + 3.6 * HOUR);
    assert.ok(effect?.kind === "PruneSnapshot");
    assert.deepEqual([effect.snapshot, effect.keeping], [oldest, right], "another one that was found right");
    assert.deepEqual(pruned(verifying, [right, verifiedAs(newest, "Succeeded")]), [right]);
    assert.deepEqual(pruned(schedule, [right, newest]), [right], "nothing is verified by this schedule");
  });

  test("whatever was verified and found, what is left has the newest one that was found right", () => {
    const found = fc.constantFrom("none", "right", "damaged", "unknown", "again" as const);
    const policy = fc.record({ keepLast: fc.nat(3), daily: fc.nat(3), weekly: fc.nat(2) });
    fc.assert(
      fc.property(fc.array(fc.tuple(found, fc.nat(30)), { maxLength: 12 }), policy, (results, retention) => {
        const verifying = hourly({ spec: { retention, verify: { schedule: "@daily" } } });
        let at = START;
        const own = results.map(([result, hours]) => {
          const one = taken(verifying, (at += (hours + 1) * HOUR));
          if (result === "none") return one;
          if (result === "right") return verifiedAs(one, "Succeeded");
          if (result === "unknown") return verifiedAs(one, "Failed");
          if (result === "again") return verifiedAs(verifiedAs(one, "Succeeded"), "Running");
          const damaged = verifiedAs(one, "Failed");
          return { ...damaged, status: { ...damaged.status, phase: "Failed" as const } };
        });
        const gone = new Set(pruned(verifying, own));
        const right = own.findLast(({ status }) => status.verifiedAt !== undefined);
        const newest = own.findLast(({ status }) => status.phase === "Succeeded");
        assert.ok(right === undefined || !gone.has(right));
        assert.ok(newest === undefined || !gone.has(newest));
        const kept = own.filter((one) => one.status.phase === "Succeeded" && !gone.has(one));
        assert.ok(kept.length <= 2 + retention.keepLast + retention.daily + retention.weekly);
      }),
    );
  });

  test("a simulated year: what is kept is what the policy says, and never nothing", () => {
    const policy = { keepLast: 2, hourly: 6, daily: 7, weekly: 4, monthly: 12, yearly: 2 };
    const yearly = hourly({ spec: { retention: policy } });
    let own: SnapshotFacts[] = [];
    let seed = 7;
    const random = () => (seed = (seed * 1_103_515_245 + 12_345) % 2 ** 31) / 2 ** 31;
    for (let at = START; at < START + 400 * DAY; at += HOUR) {
      const before = own.filter(({ status }) => status.phase === "Succeeded");
      own.push(taken(yearly, at, random() < 0.1 ? "Failed" : "Succeeded"));
      const gone = new Set(pruned(yearly, own).map(({ uid }) => uid));
      const newest = own.findLast(({ status }) => status.phase === "Succeeded");
      assert.ok(newest === undefined || !gone.has(newest.uid));
      own = own.filter(({ uid }) => !gone.has(uid));
      const good = own.filter(({ status }) => status.phase === "Succeeded");
      assert.ok(good.length > 0 || before.length === 0);
      assert.ok(good.length <= 2 + 6 + 7 + 4 + 12 + 2 + 1, String(good.length));
    }
    const months = new Set(own.map(({ createdAt }) => new Date(createdAt).toISOString().slice(0, 7)));
    assert.ok(months.size >= 12, [...months].join());
    assert.equal(own.filter(({ status }) => status.phase === "Failed").length, 3);
  });
});

describe("BackedUp", () => {
  const schedule = hourly();
  const verdict = (snapshots: readonly SnapshotFacts[], now: number, schedules = [schedule]) => {
    const view = viewOf({ ...healthy(), now, snapshots: { snapshots, schedules } });
    const found = backedUp(view);
    return found && `${found.status} ${found.reason}`;
  };
  const due = START + HOUR / 2;

  test("is true while the newest snapshot is in time, and false after two missed times", () => {
    const own = [taken(schedule, due)];
    assert.equal(verdict(own, due + HOUR), "True SnapshotInTime");
    assert.equal(verdict(own, due + 2 * HOUR + 9 * 60_000), "True SnapshotInTime");
    assert.equal(verdict(own, due + 2 * HOUR + 11 * 60_000), "False SnapshotTooOld");
  });

  test("is unknown before the first time, and false when the first ones failed", () => {
    assert.equal(verdict([], START + 1_000), "Unknown FirstSnapshotPending");
    assert.equal(verdict([taken(schedule, due, "Failed")], due + 60_000), "False NoSnapshot");
    assert.equal(verdict([], START + 3 * HOUR), "False NoSnapshot");
  });

  test("does not count what a person took, is not there without a schedule, and one schedule in time is enough", () => {
    const byHand = snapshotNamed("by-hand", { status: { phase: "Succeeded", startedAt: timestamp(START) } });
    assert.equal(verdict([byHand], START + 3 * HOUR), "False NoSnapshot");
    assert.equal(verdict([byHand], START, []), undefined);
    const suspended = hourly({ spec: { suspend: true } });
    assert.equal(verdict([], START, [suspended]), "Unknown Suspended");
    const weekly = scheduleNamed("weekly", { createdAt: START, spec: { schedule: "@weekly" } });
    const own = [taken(weekly, START + 3 * DAY)];
    assert.equal(verdict(own, START + 4 * DAY, [schedule, weekly]), "True SnapshotInTime");
  });

  test("is false while the last verification failed, until a later one succeeds or its snapshot is gone", () => {
    const verified = (at: number, phase: "Succeeded" | "Failed", completedAt: number): SnapshotFacts => {
      const one = taken(schedule, at, phase);
      const result = { request: "spec", phase, reason: "Damaged", message: "Damaged.", attempt: 1 };
      const verification = { ...result, completedAt: timestamp(completedAt) };
      return { ...one, status: { ...one.status, verification } };
    };
    const bad = verified(due, "Failed", due + 60_000);
    const newer = taken(schedule, due + HOUR);
    const now = due + HOUR + 60_000;
    assert.equal(verdict([bad, newer], now), "False VerificationFailed");
    assert.equal(verdict([{ ...bad, deleting: true }, newer], now), "True SnapshotInTime");
    const good = verified(due + HOUR, "Succeeded", due + HOUR + 30_000);
    assert.equal(verdict([bad, good], now), "True SnapshotInTime");
    const weekly = scheduleNamed("weekly", { createdAt: START, spec: { schedule: "@weekly" } });
    const own = taken(weekly, START + DAY);
    assert.equal(verdict([bad, own], START + DAY, [schedule, weekly]), "True SnapshotInTime");
  });

  test("says which one is too old, and why the last one failed", () => {
    const failed = taken(schedule, due + HOUR, "Failed");
    const own = [taken(schedule, due), { ...failed, status: { ...failed.status, message: "denied" } }];
    const found = freshnessOf(schedule, own, due + 3 * HOUR);
    assert.deepEqual(found, { is: "old", snapshot: own[0]?.name, at: due, failed: "denied" });
  });
});
