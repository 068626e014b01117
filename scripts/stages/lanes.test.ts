/** Jobs run beside each other as far as they may, in their order; a busy machine gets no more than the least. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { roomByLoad, runInLanes, type Job, type Lanes } from "./lanes.ts";

/** Each job is named; it ends when the test says so, unless the test lets all end by themselves. */
function ground(names: readonly string[], needs: Readonly<Record<string, string>> = {}) {
  const running = new Map<string, { readonly lane: number; readonly end: () => void }>();
  const jobs = names.map((name): Job => ({
    needs: needs[name],
    run: (lane) =>
      new Promise((resolve) => {
        running.set(name, { lane, end: () => (running.delete(name), resolve()) });
      }),
  }));
  return {
    jobs,
    running: () => [...running.keys()].toSorted().join(""),
    laneOf: (name: string) => running.get(name)?.lane,
    end: async (...ended: string[]) => {
      for (const name of ended) running.get(name)?.end();
      // The runner hears of it in a later turn.
      for (let turn = 0; turn < 10; turn++) await Promise.resolve();
    },
  };
}

const FULL: Lanes = { least: 2, most: 4, hasRoom: () => false, lookEveryMs: 1 };

test("as many as the least run at once when there is no room, and the next when one ends", async () => {
  const { jobs, running, end } = ground(["a", "b", "c", "d"]);
  const all = runInLanes(jobs, FULL);
  assert.equal(running(), "ab");
  await end("a");
  assert.equal(running(), "bc");
  await end("b", "c");
  await end("d");
  await all;
});

test("with room more are started, up to the most; each has a lane of its own", async () => {
  const { jobs, running, laneOf, end } = ground(["a", "b", "c", "d", "e"]);
  const all = runInLanes(jobs, { ...FULL, hasRoom: () => true });
  assert.equal(running(), "abcd");
  assert.deepEqual(["a", "b", "c", "d"].map(laneOf), [0, 1, 2, 3]);
  await end("b");
  assert.equal(running(), "acde");
  assert.equal(laneOf("e"), 1);
  await end("a", "c", "d", "e");
  await all;
});

test("room that comes later is used without waiting for an end", async () => {
  let hasRoom = false;
  const { jobs, running, end } = ground(["a", "b", "c"]);
  const all = runInLanes(jobs, { ...FULL, hasRoom: () => hasRoom });
  assert.equal(running(), "ab");
  hasRoom = true;
  const until = performance.now() + 5_000;
  while (running() !== "abc" && performance.now() < until)
    await new Promise((resolve) => setTimeout(resolve, 2));
  assert.equal(running(), "abc");
  await end("a", "b", "c");
  await all;
});

test("jobs that need the same do not run at once, and do not keep others from running", async () => {
  const { jobs, running, end } = ground(["a", "b", "c", "d"], { a: "nodes", b: "nodes" });
  const all = runInLanes(jobs, FULL);
  assert.equal(running(), "ac");
  await end("c");
  assert.equal(running(), "ad");
  await end("a");
  assert.equal(running(), "bd");
  await end("b", "d");
  await all;
});

test("nothing is started any more when it should not go on; what runs is waited for", async () => {
  let goOn = true;
  const { jobs, running, end } = ground(["a", "b", "c"]);
  const all = runInLanes(jobs, { ...FULL, goOn: () => goOn });
  goOn = false;
  await end("a");
  assert.equal(running(), "b");
  await end("b");
  await all;
});

test("there is room when the cores were idle since the last look, and not right after that", () => {
  let [idle, all, now] = [0, 0, 0];
  const hasRoom = roomByLoad(
    () => ({ idle, all }),
    () => now,
  );
  const pass = (ms: number, idleShare: number) => {
    [now, all, idle] = [now + ms, all + 2 * ms, idle + 2 * ms * idleShare];
    return hasRoom();
  };
  assert.equal(pass(1_000, 1), false, "too early to tell");
  assert.equal(pass(4_000, 0.9), true);
  assert.equal(pass(1_000, 0.5), false, "what was started has yet to show its cost");
  assert.equal(pass(4_000, 0), false);
  assert.equal(pass(4_000, 0.1), false);
  assert.equal(pass(4_000, 0.5), true);
});
