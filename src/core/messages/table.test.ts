/** Every row of the tables of messages: one code each, a sentence in the voice of the product, and a reason that is documented. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { AUTHORITIES } from "./authorities.ts";
import { TRANSITIONS } from "./transitions.ts";
import { AUTH } from "./auth.ts";
import { ADOPTION } from "./adoption.ts";
import { BOOT } from "./boot.ts";
import { CAUSES } from "./causes.ts";
import { CORRUPTION } from "./corruption.ts";
import { FENCING } from "./fencing.ts";
import { HEALING } from "./healing.ts";
import { JOINS } from "./joins.ts";
import { LIFE } from "./life.ts";
import type { StepRow, WaitRow } from "./message.ts";
import { OPERATION_MESSAGES } from "./operations.ts";
import { REASONS } from "./reasons.ts";
import { REMOVALS } from "./removals.ts";
import { ROLLOUTS } from "./rollouts.ts";
import { SPACE } from "./space.ts";
import { MESSAGES, message, remedyOf, sameMessage, sentenceOf } from "./table.ts";
import { VERSIONS } from "./versions.ts";

type Row = StepRow<object> | WaitRow<object>;
const rows = Object.entries(MESSAGES) as unknown as readonly [string, Row][];
const AREAS = [
  LIFE,
  ADOPTION,
  BOOT,
  JOINS,
  REMOVALS,
  HEALING,
  FENCING,
  CORRUPTION,
  SPACE,
  ROLLOUTS,
  VERSIONS,
  AUTHORITIES,
  TRANSITIONS,
  OPERATION_MESSAGES,
  AUTH,
];
/** Without a subject, or of a private language. */
const AVOIDED =
  /\b(nobody|somebody|everybody|whoever|anew|by now|goes on|in vain|newcomer|siblings|nevertheless)\b/i;
const LABEL = /\b[RHI]\d{1,2}\b/;

test("no code is used twice", () => {
  const codes = AREAS.flatMap((area) => Object.keys(area));
  assert.equal(new Set(codes).size, codes.length);
  assert.equal(rows.length, codes.length);
});

test("every reason is given by some wait", () => {
  const given = new Set(rows.flatMap(([, row]) => (row.kind === "wait" ? [row.reason] : [])));
  assert.deepEqual(Object.keys(REASONS).toSorted(), [...given].toSorted());
});

test("a sentence has no full stop and no private words; what to do is whole sentences", () => {
  for (const [code, row] of rows) {
    const says = row.say(row.example);
    const next = row.kind === "wait" ? row.next?.(row.example) : undefined;
    assert.match(says, /[^.]$/, code);
    assert.match(next ?? "Nothing.", /^[A-Z].*\.$/, code);
    for (const text of [says, next ?? ""]) {
      assert.doesNotMatch(text, AVOIDED, code);
      assert.doesNotMatch(text, LABEL, code);
      assert.doesNotMatch(text, /undefined|NaN|\[object/, code);
    }
  }
  for (const { meaning, remedy } of Object.values(REASONS)) {
    assert.match(meaning, /^[A-Z`e].*\.$/);
    assert.match(remedy, /^[A-Z].*\.$/);
  }
});

test("waits are the same when they differ only in when, or how far", () => {
  const down = (at: number, detail = "killed") =>
    message("MemberDown", { member: "demo-2", trouble: { kind: "ended", detail }, at });
  assert.ok(sameMessage(down(1), down(2)));
  assert.ok(!sameMessage(down(1), down(1, "out of memory")));
  assert.ok(
    !sameMessage(
      message("WaitingForStop", { members: ["a"] }),
      message("WaitingForStop", { members: ["b"] }),
    ),
  );
  assert.ok(!sameMessage(message("ClusterPaused", {}), message("ClusterFenced", {})));
});

test("one and several members, known and unknown numbers, each have their words", () => {
  const at = Date.UTC(2026, 10, 16, 13, 9, 30);
  const golden: readonly [string, string][] = [
    [
      sentenceOf(message("NextAwaitsVoters", { down: ["demo-2"] })),
      "etcd rejects new members while demo-2 is down; the next member is added once it is healthy or replaced",
    ],
    [
      sentenceOf(message("NextAwaitsVoters", { down: ["demo-2", "demo-3"] })),
      "etcd rejects new members while demo-2, demo-3 are down; the next member is added once they are healthy or replaced",
    ],
    [
      sentenceOf(message("MemberDown", { member: "demo-2", trouble: { kind: "not-running" }, at })),
      "demo-2 is down (it is not running); it will be replaced at 13:09:30 UTC unless it recovers",
    ],
    [
      sentenceOf(message("ReplacementLimit", { member: "demo-2", cause: CAUSES.volumeGone, limit: 4, at })),
      "demo-2 is not replaced yet (its volume is gone): replacement limit reached (4 in the last hour); the next replacement is allowed at 13:10 UTC",
    ],
    [
      sentenceOf(
        message("LearnersBehind", { learners: [{ member: "demo-4", behind: 12_345 }, { member: "demo-5" }] }),
      ),
      "waiting for demo-4 (about 10,000 entries behind), demo-5 (lag unknown) to catch up with the leader",
    ],
    [
      sentenceOf(message("DefragmentationAwaitsWindow", { member: "demo-2", at })),
      "demo-2 will be defragmented when the maintenance window opens at 2026-11-16 13:09:30 UTC",
    ],
    [CAUSES.downSince(at), "it has been down since 2026-11-16 13:09:30 UTC"],
    [CAUSES.downSince(Number.POSITIVE_INFINITY), "it has been down since 9999-12-31 00:00:00 UTC"],
    [
      remedyOf(message("AllDataGone", { size: 1, gone: ["demo-1"] })) ?? "",
      "Restore a snapshot into this cluster, or delete it and create it again.",
    ],
  ];
  for (const [said, wanted] of golden) assert.equal(said, wanted);
});
