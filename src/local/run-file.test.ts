import assert from "node:assert/strict";
import { test } from "node:test";
import type { ExitCause } from "../core/observation.ts";
import { quickEndsAfter, restartAt, type RunFile } from "./run-file.ts";

const run: RunFile = { startedFrom: "x", startedAt: 0, restarts: 0, quickEnds: 0 };
const ended = (cause: ExitCause, quickEnds: number): RunFile => ({
  ...run,
  quickEnds,
  exit: { at: 1000, cause, detail: "" },
});

test("the first restart comes at once, the next after 1 s, 2 s, 4 s and so on up to 10 s", () => {
  const waits = [0, 1, 2, 3, 4, 5, 6, 60].map((n) => (restartAt(ended("unknown", n), 1000) ?? 0) - 1000);
  assert.deepEqual(waits, [0, 0, 1000, 2000, 4000, 8000, 10_000, 10_000]);
});

test("a process that ran for half a minute has worked: its next end is a first one", () => {
  assert.equal(quickEndsAfter({ ...run, quickEnds: 5 }, 29_999), 6);
  assert.equal(quickEndsAfter({ ...run, quickEnds: 5 }, 30_000), 0);
});

test("a process that served is started again after a second at most, however often somebody ends it", () => {
  const served = { ...run, served: true };
  assert.deepEqual(
    [0, 1, 2, 9].map((quickEnds) => quickEndsAfter({ ...served, quickEnds }, 5_000)),
    [1, 2, 2, 2],
  );
  assert.equal(quickEndsAfter({ ...run, quickEnds: 9 }, 5_000), 10);
});

test("a member whose data is gone or that etcd removed is never started again by itself (I4, R8)", () => {
  assert.equal(restartAt(ended("data-missing", 0), 1000), undefined);
  assert.equal(restartAt(ended("removed", 0), 1000), undefined);
});

test("what runs has no time of restart", () => {
  assert.equal(restartAt(run, 1000), undefined);
});

test("a clock that was set back since it ended does not make it wait for that time to come again", () => {
  assert.equal(restartAt(ended("unknown", 6), 999), 999);
  assert.equal(restartAt(ended("removed", 6), 999), undefined);
});
