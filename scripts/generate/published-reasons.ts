/**
 * Every reason and code that was ever published, one in a line with the list that it is of. Users match them, so the
 * list is only added to: check/reasons.ts fails for one that is gone without a line in CHANGELOG.md.
 */
import { MESSAGES } from "../../src/core/messages/table.ts";
import { AUTH_REASONS } from "../../src/core/messages/auth-reasons.ts";
import { CONDITION_REASONS } from "../../src/core/messages/condition-reasons.ts";
import { EVENT_REASONS } from "../../src/core/messages/event-reasons.ts";
import { FOLLOWER_REASONS } from "../../src/core/messages/follower-reasons.ts";
import { OPERATION_REASONS } from "../../src/core/messages/operation-reasons.ts";
import { REASONS, WORK } from "../../src/core/messages/reasons.ts";
import { SCHEDULE_REASONS } from "../../src/core/messages/schedule-reasons.ts";
import { SNAPSHOT_REASONS } from "../../src/core/messages/snapshot-reasons.ts";
import { VERIFICATION_REASONS } from "../../src/core/messages/verification-reasons.ts";

export const PUBLISHED = "src/core/messages/published-reasons.txt";

const LISTS: Readonly<Record<string, object>> = {
  wait: REASONS,
  work: Object.fromEntries(Object.values(WORK).map(({ reason }) => [reason, true])),
  condition: CONDITION_REASONS,
  event: EVENT_REASONS,
  EtcdOperation: OPERATION_REASONS,
  EtcdSnapshot: SNAPSHOT_REASONS,
  verification: VERIFICATION_REASONS,
  EtcdSnapshotSchedule: SCHEDULE_REASONS,
  "recorded changes": FOLLOWER_REASONS,
  "EtcdUser or EtcdRole": AUTH_REASONS,
  message: MESSAGES,
};

/** As the sources have them now. */
export function reasonsNow(): readonly string[] {
  return Object.entries(LISTS).flatMap(([list, reasons]) =>
    Object.keys(reasons).map((reason) => `${list}: ${reason}`),
  );
}

/** The list with what is new. */
export function published(before: string, now: readonly string[]): string {
  return `${[...new Set([...linesOf(before), ...now])].toSorted().join("\n")}\n`;
}

export function linesOf(text: string): readonly string[] {
  return text.split("\n").filter((line) => line !== "");
}
