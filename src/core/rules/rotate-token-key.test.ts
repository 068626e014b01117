/** The key of auth tokens: replaced by its age or by an operation, by one roll, and waited for before auth is enabled. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { AuthSpec } from "../../api/auth.ts";
import type { Observation } from "../observation.ts";
import { plan } from "../plan/plan.ts";
import { change, edit, healthy, NOW, run } from "../testing/cluster.ts";
import { asking, outcomeOf, stepsOf } from "../testing/operations.ts";
import { viewOf } from "../view.ts";
import { lackTokens, tokensOf } from "../assess/tokens.ts";
import { sayTokens } from "../messages/auth-words.ts";
import { signingKey } from "../auth/token.ts";
import { rotateTokenKey } from "./rotate-token-key.ts";

const HOUR = 3_600_000;
const auth = (token?: AuthSpec["token"]): AuthSpec => ({ enabled: false, ...(token && { token }) });
const JWT = auth({ type: "JWT" });
const AGING = auth({ type: "JWT", keyLifetime: "24h" });

function codes(world: Observation): string[] {
  return rotateTokenKey(viewOf(world)).map((outcome) =>
    "act" in outcome ? outcome.act.code : outcome.hold.code,
  );
}

/** All steps in a world where nothing fails, and the world after them. */
function played(from: Observation): { steps: string[]; world: Observation } {
  const world = run(from);
  return { steps: plan(from).steps.map(({ code }) => code), world };
}

const keys = (world: Observation) => world.members.map(({ record }) => signingKey(record.template));
const marked = (world: Observation, tokenKey: object): Observation => ({
  ...world,
  cluster: { ...world.cluster, marks: { ...world.cluster.marks, tokenKey: tokenKey as never } },
});

test("JWT is rolled out to members one at a time, and Simple again", () => {
  const begun = edit(healthy(), { auth: JWT });
  assert.deepEqual(lackTokens(viewOf(begun)), ["demo-1", "demo-2", "demo-3"]);
  const signed = played(begun);
  assert.equal(signed.steps.filter((step) => step === "MemberRolled").length, 3);
  assert.deepEqual(keys(signed.world), [1, 1, 1]);
  assert.equal(sayTokens(tokensOf(viewOf(signed.world))), "tokens are signed (JWT, key 1)");
  const plain = played(edit(signed.world, { auth: auth({ type: "Simple" }) }));
  assert.deepEqual(keys(plain.world), [undefined, undefined, undefined]);
});

test("the age of a key counts from when it was first limited, and no key is old without a limit", () => {
  const { world } = played(edit(healthy(), { auth: JWT }));
  assert.deepEqual(codes({ ...world, now: NOW + 10_000 * HOUR }), []);
  const aging = edit(world, { auth: AGING });
  assert.deepEqual(codes(aging), ["TokenKeyNoted"]);
  const noted = marked(aging, { number: 1, since: NOW });
  assert.deepEqual(codes(noted), []);
  assert.deepEqual(codes({ ...noted, now: NOW + 24 * HOUR }), ["TokenKeyDue"]);
});

test("a key that is due is replaced by one roll, once", () => {
  const { world } = played(edit(healthy(), { auth: AGING }));
  const later = { ...world, now: world.now + 25 * HOUR };
  const { steps, world: after } = played(later);
  assert.deepEqual(
    steps.filter((step) => step.startsWith("TokenKey")),
    ["TokenKeyDue"],
  );
  assert.deepEqual(keys(after), [2, 2, 2]);
});

test("no key is replaced while a member is not well, or still has the one before", () => {
  const { world } = played(edit(healthy(), { auth: AGING }));
  const due = { ...world, now: world.now + 25 * HOUR };
  const ill = change(due, "demo-2", (facts) => ({
    ...facts,
    answer: { reachable: false, error: "connection refused" } as never,
  }));
  assert.deepEqual(codes(ill), []);
  const between = marked(due, { number: 2, since: world.now });
  assert.deepEqual(codes(between), []);
});

test("what nobody signs with any more is forgotten", () => {
  const world = marked(healthy(), { number: 4, since: NOW });
  assert.deepEqual(codes(world), ["TokenKeyForgotten"]);
  const { world: signed } = played(edit(healthy(), { auth: JWT }));
  assert.deepEqual(codes(marked(edit(signed, { auth: auth() }), { number: 4, since: NOW })), []);
});

test("an operation replaces the key, and ends when every member runs with the new one", () => {
  const { world } = played(edit(healthy(), { auth: JWT }));
  const asked = asking(world, { kind: "rotateCertificates", tokenKey: true });
  const steps = stepsOf(asked);
  assert.deepEqual(steps.slice(0, 2), ["start operation task", "mark rotate-token-key"]);
  assert.equal(steps.filter((step) => step.startsWith("stop workload")).length, 3);
  assert.equal(steps.at(-1), "succeed operation task");
  assert.deepEqual(keys(played(asked).world), [2, 2, 2]);
});

test("an operation is rejected where tokens are not signed", () => {
  const { phase, reason } = outcomeOf(asking(healthy(), { kind: "rotateCertificates", tokenKey: true }));
  assert.deepEqual([phase, reason], ["Rejected", "NoTokenKey"]);
});
