import assert from "node:assert/strict";
import { test } from "node:test";
import { WorkQueue } from "../../kube/queue.ts";
import { ManualClock, noRandom } from "../../kube/testing.ts";
import { ProgressMonitor, judgeLife, judgeReadiness, LIFE_BOUNDS, lifeFacts } from "./health.ts";

function working(work: () => Promise<void>, concurrency = 1) {
  const clock = new ManualClock();
  const queue = new WorkQueue({ clock, random: noRandom, concurrency, work, onFailure: () => undefined });
  const progress = new ProgressMonitor(clock);
  queue.start();
  return { clock, queue, progress, alive: () => judgeLife(lifeFacts(progress, queue)) };
}

test("a process whose work gets on is alive", async () => {
  const { clock, queue, alive } = working(() => Promise.resolve());
  queue.add("a");
  await clock.advance(3_600_000);
  assert.equal(alive().ok, true, alive().lines.join("\n"));
});

test("a reconcile that never ends is found, and not before the longest call may have ended", async () => {
  const { clock, queue, alive } = working(() => new Promise(() => undefined));
  queue.add("a");
  await clock.advance(5 * 60_000 + 10_000);
  assert.equal(alive().ok, true);
  await clock.advance(LIFE_BOUNDS.runMs);
  assert.equal(alive().ok, false);
  assert.match(alive().lines[0] ?? "", /^not ok: longest reconcile/);
});

test("a key that nobody takes is found", () => {
  const facts = { longestRunMs: 0, longestWaitMs: LIFE_BOUNDS.waitMs + 1, beatAgoMs: 0, ended: [] };
  assert.equal(judgeLife(facts).ok, false);
  assert.equal(judgeLife({ ...facts, longestWaitMs: LIFE_BOUNDS.waitMs }).ok, true);
});

test("an event loop that does not turn is found by its heartbeat, and its lateness is reported", async () => {
  let [now, fire] = [0, () => {}];
  const clock = {
    now: () => now,
    monotonic: () => now,
    timer: (_: number, next: () => void) => {
      fire = next;
      return { cancel: () => undefined };
    },
  };
  const progress = new ProgressMonitor(clock);
  now = LIFE_BOUNDS.beatMs + 1;
  assert.equal(judgeLife(lifeFacts(progress)).ok, false);
  fire();
  assert.equal(judgeLife(lifeFacts(progress)).ok, true);
  assert.equal(progress.lagMs, LIFE_BOUNDS.beatMs + 1 - 1_000);
});

test("a part that has ended for good is found", () => {
  const verdict = judgeLife(lifeFacts({ beatAgoMs: 0 }, undefined, ["the cache of pods"]));
  assert.equal(verdict.ok, false);
  assert.ok(verdict.lines.includes("not ok: the cache of pods stopped"));
});

test("a process that stands by is ready when its stores are in step", () => {
  assert.equal(judgeReadiness([{ resource: "pods", synced: true }]).ok, true);
  const behind = judgeReadiness([
    { resource: "pods", synced: true },
    { resource: "secrets", synced: false, trouble: "403 Forbidden" },
  ]);
  assert.equal(behind.ok, false);
  assert.deepEqual(behind.lines, ["ok: pods", "not ok: secrets not synced yet (403 Forbidden)"]);
  // Its definition was removed, and the clusters are served on.
  const optional = judgeReadiness([
    { resource: "etcdoperations", synced: true, trouble: "404 Not Found", optional: true },
  ]);
  assert.ok(optional.ok);
  assert.deepEqual(optional.lines, ["ok: etcdoperations may be behind (404 Not Found)"]);
  assert.equal(judgeReadiness([{ resource: "pods", synced: true, trouble: "cut off" }]).ok, false);
  assert.equal(judgeReadiness([], "looking for the server").ok, false);
});

test("a new leader whose caches do not catch up is not ready after ten seconds, and not alive after five minutes", () => {
  const synced = [{ resource: "pods", synced: true }];
  const after = (forMs: number) => ({ forMs, resources: ["pods", "secrets"] });
  assert.equal(judgeReadiness(synced, undefined, after(10_000)).ok, true);
  const late = judgeReadiness(synced, undefined, after(10_001));
  assert.equal(late.ok, false);
  assert.match(
    late.lines.join(),
    /not ok: new leader waiting for its caches of pods, secrets to catch up 10.0 s/,
  );
  const alive = (forMs: number) => judgeLife(lifeFacts({ beatAgoMs: 0 }, undefined, [], after(forMs))).ok;
  assert.equal(alive(300_000), true);
  assert.equal(alive(300_001), false);
});
