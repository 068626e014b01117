import assert from "node:assert/strict";
import { test } from "node:test";
import type { Decision, Hold } from "../../core/action.ts";
import type { Problem } from "../../control/problem.ts";
import type { TranscriptEntry } from "../../control/transcript.ts";
import { aHold } from "../../core/testing/hold.ts";
import type { EventWish } from "../../kube/events.ts";
import { Announcer } from "./announcer.ts";

function world() {
  const reported: string[] = [];
  const recorder = {
    record: ({ type, reason, note }: EventWish) => void reported.push(`${type} ${reason}: ${note}`),
  };
  return { reported, announcer: new Announcer(recorder, () => ({ metadata: { name: "demo" } })) };
}

const entry = (
  step: Pick<TranscriptEntry, "kind" | "purpose">,
  more: { member?: string; error?: string; rule?: string } = {},
): TranscriptEntry => ({
  at: 0,
  rule: "some-rule",
  ...step,
  step: "",
  reason: "because",
  tookMs: 1,
  ...more,
});

const holding = (...holds: Partial<Hold>[]): { decision: Decision; problems: Problem[] } => ({
  decision: {
    holds: holds.map(aHold),
    heldBack: [],
    converged: false,
  },
  problems: [],
});

test("a step is told by its purpose, with whom it concerns and why", () => {
  const { reported, announcer } = world();
  announcer.step(entry({ kind: "UpdateMember", purpose: "roll" }, { member: "demo-2" }));
  announcer.step(entry({ kind: "Promote" }, { member: "demo-4" }));
  assert.deepEqual(reported, ["Normal Roll: demo-2: because", "Normal Promote: demo-4: because"]);
});

test("what only keeps the books is reported when it fails, and only then", () => {
  const { reported, announcer } = world();
  announcer.step(entry({ kind: "UpdateMember", purpose: "permit-start" }, { member: "demo-1" }));
  announcer.step(entry({ kind: "CreateMember" }, { member: "demo-1", rule: "first-boot" }));
  assert.deepEqual(reported, []);
  announcer.step(
    entry({ kind: "UpdateMember", purpose: "permit-start" }, { member: "demo-1", error: "conflict" }),
  );
  assert.deepEqual(reported, ["Warning PermitStartFailed: demo-1: because; it failed: conflict"]);
});

test("a wait for a person is reported when it begins, once, and again when it returns", () => {
  const { reported, announcer } = world();
  const wait = holding({ next: "Restore a snapshot." });
  announcer.pass(wait);
  announcer.pass(wait);
  assert.deepEqual(reported, ["Warning QuorumLost: lost. Restore a snapshot."]);
  announcer.pass(holding());
  announcer.pass(wait);
  assert.equal(reported.length, 2);
});

test("a wait that ends by itself, a sleep and a pause are no events", () => {
  const { reported, announcer } = world();
  announcer.pass(
    holding({}, { reason: "Hibernated", next: "Wake it." }, { reason: "Paused", next: "Go on." }),
  );
  assert.deepEqual(reported, []);
});

const quota = (used: number) => ({ key: "the Pod of demo-1 Forbidden", message: `used: ${used} of 5` });

test("a problem is reported once, however its sentence counts on, and again when it returns", () => {
  const { reported, announcer } = world();
  for (const used of [6, 7]) announcer.pass({ ...holding(), problems: [quota(used)] });
  assert.deepEqual(reported, ["Warning Problem: used: 6 of 5"]);
  announcer.pass(holding());
  announcer.pass({ ...holding(), problems: [quota(8)] });
  assert.deepEqual(reported.slice(1), ["Warning Problem: used: 8 of 5"]);
});

test("a problem of several parts is one event, and one of another class is another", () => {
  const { reported, announcer } = world();
  const refused = { key: "the Pod of demo-1 Invalid", message: "no such field" };
  announcer.pass({ ...holding(), problems: [quota(6), quota(6)] });
  announcer.pass({ ...holding(), problems: [refused, quota(7)] });
  assert.deepEqual(reported, ["Warning Problem: used: 6 of 5", "Warning Problem: no such field"]);
});

test("an invalid spec is reported once for each generation and for the fields at fault", () => {
  const { reported, announcer } = world();
  const wrong = (path: string, used: number) => ({
    message: `${path}: ${used}`,
    errors: [{ path, message: String(used) }],
  });
  announcer.invalid(wrong("spec.x", 1), 1);
  announcer.invalid(wrong("spec.x", 2), 1);
  announcer.invalid(wrong("spec.y", 1), 1);
  announcer.invalid(wrong("spec.y", 1), 2);
  assert.deepEqual(
    reported,
    ["spec.x: 1", "spec.y: 1", "spec.y: 1"].map((text) => `Warning InvalidSpec: ${text}`),
  );
});
