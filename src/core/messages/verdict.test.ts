/** Every row of the tables of verdicts: a sentence in the voice of the product under a reason that is documented. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { AUTH_REASONS } from "./auth-reasons.ts";
import { AUTH_VERDICTS } from "./auth-verdicts.ts";
import { CONDITION_REASONS } from "./condition-reasons.ts";
import { CONDITION_VERDICTS } from "./condition-verdicts.ts";
import { CRON_ERRORS } from "./cron-errors.ts";
import { MEMBER_VERDICTS } from "./member-verdicts.ts";
import { OPERATION_ENDINGS, ending } from "./operation-endings.ts";
import { OPERATION_REASONS } from "./operation-reasons.ts";
import { OPERATION_REPORTS } from "./operation-reports.ts";
import { REASONS, WORK } from "./reasons.ts";
import { withoutChange } from "./recovery-endings.ts";
import { FOLLOWER_REASONS } from "./follower-reasons.ts";
import { SCHEDULE_REASONS } from "./schedule-reasons.ts";
import { FOLLOWER_VERDICTS, SCHEDULE_VERDICTS } from "./schedule-verdicts.ts";
import { SNAPSHOT_REASONS } from "./snapshot-reasons.ts";
import { SNAPSHOT_VERDICTS, VERIFICATION_VERDICTS } from "./snapshot-verdicts.ts";
import { VERIFICATION_REASONS } from "./verification-reasons.ts";

interface Row {
  readonly reason: string;
  readonly say: (params: never) => string;
  readonly example: object;
}

/** Conditions say them while work is under way. */
const OF_WORK = Object.fromEntries(Object.values(WORK).map(({ reason }) => [reason, reason]));

const AREAS: readonly (readonly [Readonly<Record<string, Row>>, object])[] = [
  [OPERATION_ENDINGS, OPERATION_REASONS],
  [OPERATION_REPORTS, { ...OPERATION_REASONS, ...REASONS }],
  [CONDITION_VERDICTS, { ...CONDITION_REASONS, ...REASONS, ...SCHEDULE_REASONS, ...OF_WORK }],
  [MEMBER_VERDICTS, { ...CONDITION_REASONS, ...REASONS }],
  [AUTH_VERDICTS, AUTH_REASONS],
  [SNAPSHOT_VERDICTS, SNAPSHOT_REASONS],
  [VERIFICATION_VERDICTS, VERIFICATION_REASONS],
  [SCHEDULE_VERDICTS, SCHEDULE_REASONS],
  [FOLLOWER_VERDICTS, FOLLOWER_REASONS],
];

test("a sentence is a fragment without a full stop, and its reason is one that is documented", () => {
  for (const [rows, reasons] of AREAS)
    for (const [code, { reason, say, example }] of Object.entries(rows)) {
      const said = say(example as never);
      assert.match(said, /[^.]$/, code);
      assert.doesNotMatch(said, /undefined|NaN|\[object/, code);
      assert.ok(Object.hasOwn(reasons, reason), `${code}: ${reason}`);
    }
});

test("an error of a schedule says what to write instead", () => {
  for (const [code, { say, example }] of Object.entries(CRON_ERRORS) as unknown as [string, Row][]) {
    const said = say(example as never);
    assert.match(said, /[^.]$/, code);
    assert.doesNotMatch(said, /undefined|NaN|\[object/, code);
  }
});

test("a verdict is data, and its words are made when they are read", () => {
  const end = ending("DefragmentedBut", { count: 1, skipped: ["demo-2"] });
  const { reason, code, params } = end;
  assert.deepEqual(
    [reason, code, params],
    ["Incomplete", "DefragmentedBut", { count: 1, skipped: ["demo-2"] }],
  );
  assert.equal(end.message, "1 member is defragmented, and not demo-2");
  assert.equal({ ...end }.message, end.message);
  const often = ending("RestoreFailedOften", { times: 1 });
  assert.equal(withoutChange(often).message, "failed once, and no data was changed");
  assert.equal(withoutChange(often, "no route").message, "failed once, and no data was changed: no route");
});
