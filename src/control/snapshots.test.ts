import assert from "node:assert/strict";
import { test } from "node:test";
import { effectKey, type SnapshotEffect } from "../core/snapshots/effect.ts";
import { runningSnapshot, scheduleNamed, snapshotNamed, worldOf } from "../core/testing/snapshots.ts";
import type { Clock } from "../seams/clock.ts";
import { Conflict } from "./platform.ts";
import { SnapshotKeeper } from "./snapshots.ts";

/** A keeper whose effects end as `outcome` says, and a clock that is set by hand. */
function keeperWith(outcome: () => Error | undefined) {
  const tried: string[] = [];
  const time = { ms: 0 };
  const clock = { monotonic: () => time.ms } as Clock;
  const execute = (effect: SnapshotEffect) => {
    tried.push(effect.kind);
    const error = outcome();
    return error ? Promise.reject(error) : Promise.resolve();
  };
  return { keeper: new SnapshotKeeper(execute, clock), tried, time };
}

test("what is decided is done, and looked at again at once", async () => {
  const { keeper, tried } = keeperWith(() => undefined);
  const kept = await keeper.keep(worldOf([snapshotNamed("a")]));
  assert.deepEqual([kept.changed, tried], [true, ["UpdateSnapshot"]]);
});

test("a Job that cannot be made is tried again with growing waits, and its snapshot is told why", async () => {
  const { keeper, tried, time } = keeperWith(() => new Error("quota"));
  const world = worldOf([runningSnapshot("a")]);
  assert.equal((await keeper.keep(world)).failures.length, 1);
  // The reason first; that cannot be written either, and is news once.
  assert.equal((await keeper.keep(world)).failures.length, 1);
  assert.deepEqual(tried, ["StartJob", "UpdateSnapshot"]);
  const kept = await keeper.keep(world);
  assert.deepEqual([kept.changed, kept.failures, tried.length], [false, [], 2]);
  assert.ok(kept.lookAgainAt);
  time.ms = 60_000;
  assert.deepEqual([(await keeper.keep(world)).failures, tried.length], [[], 3]);
});

test("a snapshot that a schedule cannot create is retried with growing waits, and the schedule tells why", async () => {
  const schedule = scheduleNamed("hourly");
  let world = worldOf([], { now: schedule.createdAt + 7_200_000, schedules: [schedule] });
  const time = { ms: 0 };
  const tried: string[] = [];
  let isFull = true;
  const execute = (effect: SnapshotEffect) => {
    tried.push(effect.kind);
    if (effect.kind === "UpdateSchedule")
      world = { ...world, schedules: [{ ...schedule, status: effect.status }] };
    return effect.kind === "CreateSnapshot" && isFull
      ? Promise.reject(new Error("exceeded quota"))
      : Promise.resolve();
  };
  const keeper = new SnapshotKeeper(execute, { monotonic: () => time.ms } as Clock);
  assert.equal((await keeper.keep(world)).failures.length, 1);
  assert.equal((await keeper.keep(world)).changed, true);
  const kept = await keeper.keep(world);
  assert.deepEqual([kept.changed, tried], [false, ["CreateSnapshot", "UpdateSchedule"]]);
  assert.ok(kept.lookAgainAt);
  const [refused] = world.schedules ?? [];
  assert.deepEqual(
    [refused?.status.reason, /exceeded quota/.test(refused?.status.message ?? "")],
    ["SnapshotRefused", true],
  );
  isFull = false;
  time.ms = 2_000;
  await keeper.keep(world);
  assert.deepEqual(tried.slice(2), ["CreateSnapshot"]);
});

test("of a point in time that cannot be created it is reported whose it is, also before there is any snapshot", async () => {
  const { keeper } = keeperWith(() => new Error("exceeded quota"));
  assert.equal(keeper.stateWithFailures(undefined), undefined);
  const owner = { kind: "EtcdOperation", name: "back", uid: "uid-of-back" } as const;
  const spec = snapshotNamed("any").spec;
  await keeper.keep({ ...worldOf([]), point: { name: "demo-point-1", owner, spec } });
  assert.deepEqual(keeper.stateWithFailures(undefined), {
    snapshots: [],
    schedules: [],
    pointFailures: { "uid-of-back": "exceeded quota" },
  });
  await keeper.keep(worldOf([]));
  assert.equal(keeper.stateWithFailures(undefined), undefined, "once it is not wanted any more");
});

test("a snapshot that was changed meanwhile is no failure", async () => {
  const { keeper, tried } = keeperWith(() => new Conflict("changed"));
  const world = worldOf([snapshotNamed("a")]);
  const kept = await keeper.keep(world);
  assert.deepEqual([kept.changed, kept.failures], [false, []]);
  await keeper.keep(world);
  assert.equal(tried.length, 2);
});

test("nothing is done any more when the lease is lost between two effects", async () => {
  const { keeper, tried } = keeperWith(() => undefined);
  const lost = () => {
    throw new Error("lost the lease");
  };
  await assert.rejects(keeper.keep(worldOf([snapshotNamed("a")]), lost), /lost the lease/);
  assert.deepEqual(tried, []);
});

test("attempts of a Job are told apart, and so are snapshots", () => {
  const start = { kind: "StartJob", snapshot: snapshotNamed("a"), task: "delete", endpoints: [] } as const;
  const keys = [1, 2].map((attempt) => effectKey({ ...start, attempt }));
  keys.push(effectKey({ ...start, attempt: 1, snapshot: snapshotNamed("b") }));
  assert.equal(new Set(keys).size, 3);
});
