import assert from "node:assert/strict";
import { test } from "node:test";
import type { Decision, Hold } from "../../core/action.ts";
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

const entry = (step: string, more: { member?: string; error?: string; rule?: string } = {}) => ({
  at: 0,
  rule: "some-rule",
  step,
  reason: "because",
  tookMs: 1,
  ...more,
});

const holding = (...holds: Partial<Hold>[]): { decision: Decision; problems: string[] } => ({
  decision: {
    holds: holds.map(aHold),
    heldBack: [],
    converged: false,
  },
  problems: [],
});

test("a step is told by its purpose, with whom it concerns and why", () => {
  const { reported, announcer } = world();
  announcer.step(entry("UpdateMember/roll", { member: "demo-2" }));
  announcer.step(entry("Promote", { member: "demo-4" }));
  assert.deepEqual(reported, ["Normal Roll: demo-2: because", "Normal Promote: demo-4: because"]);
});

test("what only keeps the books is reported when it fails, and only then", () => {
  const { reported, announcer } = world();
  announcer.step(entry("UpdateMember/permit-start", { member: "demo-1" }));
  announcer.step(entry("CreateMember", { member: "demo-1", rule: "first-boot" }));
  assert.deepEqual(reported, []);
  announcer.step(entry("UpdateMember/permit-start", { member: "demo-1", error: "conflict" }));
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

test("a problem and an invalid spec are reported once", () => {
  const { reported, announcer } = world();
  const troubled = { ...holding(), problems: ["no room"] };
  announcer.pass(troubled);
  announcer.pass(troubled);
  announcer.invalid("spec.x: wrong");
  announcer.invalid("spec.x: wrong");
  assert.deepEqual(reported, ["Warning Problem: no room", "Warning InvalidSpec: spec.x: wrong"]);
});
