import assert from "node:assert/strict";
import { test } from "node:test";
import { parseSummary, summaryOf, writeSummary, type DirectorySummary } from "./summary.ts";

const DATA: DirectorySummary = {
  state: "data",
  clusterID: "4a5d1c3e0f9b2d61",
  memberID: "8e9e05c52164694d",
  term: 4,
  index: 2817,
  revision: 2641,
  replay: 27,
};

test("a summary is read back as it was written", () => {
  for (const summary of [DATA, { state: "empty" }, { state: "damaged", why: "torn" }] as const) {
    assert.deepEqual(parseSummary(writeSummary(summary)), summary);
    const alone = { ...summary, alone: "recovery/node-51f0a3c2d4e5b697/data" };
    assert.deepEqual(parseSummary(writeSummary(alone)), alone);
  }
});

test("the member list is part of it, where it fits into a termination message", () => {
  const member = (n: number, long = "") => ({
    id: `${n}`,
    name: `demo-${n}${long}`,
    peerURL: `https://demo-${n}`,
  });
  const whole = { ...DATA, members: [member(1), { ...member(2), isLearner: true }] };
  assert.deepEqual(parseSummary(writeSummary(whole)), whole);
  assert.deepEqual(parseSummary(JSON.stringify({ directory: { ...DATA, members: [{ id: 1 }] } })), DATA);
  const listed = (long: string) =>
    summaryOf({
      state: "data",
      log: { clusterID: "1", memberID: "2", last: { term: 1, index: 1 } } as never,
      database: {
        consistentIndex: 1,
        revision: 1,
        size: 1,
        members: [1, 2, 3].map((n) => ({
          ...member(n, long),
          peerURLs: [`https://demo-${n}`],
          isLearner: false,
        })),
      },
    });
  assert.equal((listed("") as typeof whole).members.length, 3);
  const cut = listed("x".repeat(2_000));
  assert.ok("clusterID" in cut && cut.members === undefined);
  assert.ok(Buffer.byteLength(writeSummary(cut)) <= 4096);
});

test("a long reason is cut, so that it fits into a termination message", () => {
  const text = writeSummary(summaryOf({ state: "damaged", why: "💥".repeat(2_000) }));
  assert.ok(Buffer.byteLength(text) <= 4096);
  assert.equal(parseSummary(text)?.state, "damaged");
});

test("anything else is no summary", () => {
  for (const text of [
    undefined,
    "",
    "Killed",
    "{",
    "{}",
    JSON.stringify({ directory: { state: "data", clusterID: "1" } }),
    JSON.stringify({ directory: { ...DATA, index: "2817" } }),
    JSON.stringify({ directory: { state: "damaged" } }),
  ])
    assert.equal(parseSummary(text), undefined, text);
});
