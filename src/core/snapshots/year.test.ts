/** Years of a schedule, effect by effect, in a store that it shares with others and that damages what it holds. */
import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { timestamp } from "../status/condition.ts";
import { scheduleNamed, snapshotNamed } from "../testing/snapshots.ts";
import type { SnapshotEffect } from "./effect.ts";
import type { ScheduleFacts, SnapshotFacts } from "./facts.ts";
import { scheduledName, scheduleTurn } from "./schedule.ts";

const MINUTE = 60_000;
const DAY = 24 * 60 * MINUTE;
const START = Date.UTC(2026, 0, 1);
const MOST_EFFECTS = 40;

type Luck = (percent: number) => boolean;

class Year {
  schedule: ScheduleFacts;
  readonly foreign: readonly SnapshotFacts[];
  own: SnapshotFacts[] = [];
  pruned = 0;
  readonly #luck: Luck;
  readonly #damaged = new Set<string>();

  constructor(schedule: ScheduleFacts, luck: Luck) {
    this.schedule = schedule;
    this.#luck = luck;
    const status = { phase: "Succeeded", startedAt: timestamp(START), uri: "s3://b/a" } as const;
    this.foreign = [
      snapshotNamed("by-hand", { createdAt: START, status }),
      snapshotNamed("other-29455200", { createdAt: START, schedule: "other-uid", status }),
      // Of one that was deleted, and had the same name.
      snapshotNamed(scheduledName(schedule, START), { createdAt: START, schedule: "former-uid", status }),
      snapshotNamed("demo-before-3-7-490920", { createdAt: START, before: "3.7", status }),
    ];
  }

  /** One day, of which the operator sees an hour or so. */
  pass(now: number): void {
    for (const { uid } of this.own) if (this.#luck(1)) this.#damaged.add(uid);
    for (let count = 0; ; count++) {
      assert.ok(count < MOST_EFFECTS, "it never ends");
      const snapshots = [...this.foreign, ...this.own];
      const { effect, also = [] } = scheduleTurn(this.schedule, { now, snapshots, isThere: true });
      if (!effect) return;
      for (const one of [effect, ...also]) this.#perform(one, now);
    }
  }

  #perform(effect: SnapshotEffect, now: number): void {
    switch (effect.kind) {
      case "UpdateSchedule":
        this.schedule = { ...this.schedule, status: effect.status };
        return;
      case "CreateSnapshot":
        return void this.own.push(this.#taken(effect.at));
      case "RequestVerification":
        this.own = this.own.map((one) =>
          one.uid === effect.snapshot.uid ? this.#verified(one, effect.request, now) : one,
        );
        return;
      case "PruneSnapshot":
        return this.#prune(effect.snapshot, effect.keeping);
      default:
        assert.fail(effect.kind);
    }
  }

  #taken(at: number): SnapshotFacts {
    const name = scheduledName(this.schedule, at);
    const isTaken = !this.#luck(15);
    const status = {
      phase: isTaken ? "Succeeded" : "Failed",
      startedAt: timestamp(at),
      ...(isTaken && { uri: `s3://b/${name}` }),
    } as const;
    // Damaged on the way there.
    if (isTaken && this.#luck(10)) this.#damaged.add(`${name}-0000-uid`);
    return snapshotNamed(name, { createdAt: at, schedule: this.schedule.uid, status });
  }

  #verified(one: SnapshotFacts, request: string, now: number): SnapshotFacts {
    const { verifiedAt: _before, ...rest } = one.status;
    const isRight = !this.#damaged.has(one.uid);
    const verification = {
      request,
      phase: isRight ? "Succeeded" : "Failed",
      reason: isRight ? "Verified" : "Damaged",
      message: "",
      completedAt: timestamp(now),
    } as const;
    const status = isRight
      ? { ...one.status, verification, verifiedAt: timestamp(now) }
      : { ...rest, verification, phase: "Failed" as const };
    return { ...one, verifyRequest: request, status };
  }

  #prune(gone: SnapshotFacts, keeping: SnapshotFacts | undefined): void {
    const stored = this.own.filter(({ status }) => status.phase === "Succeeded");
    assert.ok(this.own.includes(gone), `${gone.name} of others is deleted`);
    assert.notEqual(gone, stored.at(-1), "the newest good one is deleted");
    if (this.schedule.spec.verify) {
      const right = stored.findLast(({ status }) => status.verifiedAt !== undefined);
      assert.notEqual(gone, right, "the last one that was found right is deleted");
    }
    if (gone.status.phase === "Succeeded")
      assert.ok(keeping && keeping !== gone && stored.includes(keeping), "nothing good is left beside it");
    this.own = this.own.filter((one) => one !== gone);
    this.pruned++;
  }
}

test("in a year of faults, nothing of others and never the last good snapshot is deleted", () => {
  const counts = fc.record({ keepLast: fc.nat(3), daily: fc.nat(7), weekly: fc.nat(4), monthly: fc.nat(12) });
  fc.assert(
    fc.property(counts, fc.boolean(), fc.nat(), (retention, isVerified, seed) => {
      let state = seed;
      const luck: Luck = (percent) => {
        state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
        return state / 2 ** 32 < percent / 100;
      };
      const verify = isVerified ? { verify: { schedule: "0 5 * * SUN" } } : {};
      const spec = { schedule: "30 2 * * *", retention, ...verify };
      const year = new Year(scheduleNamed("nightly", { createdAt: START, spec }), luck);
      for (let day = 0; day < 366; day++) {
        year.pass(START + day * DAY + 150 * MINUTE + 1_000);
        year.pass(START + day * DAY + 301 * MINUTE);
        const good = year.own.filter(({ status }) => status.phase === "Succeeded");
        const { keepLast, daily, weekly, monthly } = retention;
        assert.ok(good.length <= keepLast + daily + weekly + monthly + 2, `${good.length} are kept`);
      }
      assert.ok(year.pruned > 200, "what is not kept is deleted");
      assert.ok(year.own.some(({ status }) => status.phase === "Succeeded"));
    }),
    { numRuns: 25 },
  );
});
