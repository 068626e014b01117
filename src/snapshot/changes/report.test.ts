import assert from "node:assert/strict";
import { test } from "node:test";
import { parseReport, reportAfter } from "./report.ts";

const START = {
  clusterId: "abc",
  base: "a.db",
  after: 7,
  notBefore: 0,
  resumed: false,
  authRevision: 1,
  authEnabled: false,
};

test("a follower tells how far it is, what it waits for, and what it tries again", () => {
  const awaits = reportAfter(undefined, { kind: "base", reason: "none", waitMs: 0 });
  assert.deepEqual(awaits, { state: "awaits-base", needs: "none" });
  const begun = reportAfter(awaits, { kind: "start", start: START });
  assert.deepEqual(begun, {
    state: "following",
    clusterID: "abc",
    revision: 7,
    time: "1970-01-01T00:00:00.000Z",
  });
  const failing = reportAfter(begun, { kind: "retry", error: new Error("the store is full") });
  assert.deepEqual([failing.problem, failing.revision], ["the store is full", 7]);
  const time = "2026-11-17T10:00:00.000Z";
  const done = reportAfter(failing, { kind: "complete", revision: 9, time });
  assert.deepEqual(done, { ...begun, revision: 9, time });
  assert.deepEqual(reportAfter(done, { kind: "base", reason: "auth", waitMs: 0 }), {
    ...done,
    state: "awaits-base",
    needs: "auth",
  });
  for (const report of [awaits, begun, failing, done])
    assert.deepEqual(parseReport(JSON.stringify(report)), report);
});

test("anything else is no report", () => {
  for (const text of [
    undefined,
    "",
    "[]",
    "null",
    '{"state":"dancing"}',
    '{"state":"following","revision":-1}',
    '{"state":"following","time":"soon"}',
    '{"state":"awaits-base","needs":"love"}',
  ])
    assert.equal(parseReport(text), undefined, text);
});
