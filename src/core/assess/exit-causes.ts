/**
 * What the end of a member's process means, in one table for all rules, the plan and whoever starts processes again:
 * what has to change before it can serve, what became of its data, and whether starting it again by itself can help.
 */
import type { ExitCause } from "../observation.ts";
import type { MemberView } from "../view.ts";

export interface ExitMeaning {
  /**
   * What has to change before it can serve again: another member takes its place; it gets another template or another
   * list of peers; its data is compared with the others'; its node has room or a free port again; the snapshot that it
   * starts from can be had; or nothing.
   */
  readonly cure: "replacement" | "template" | "peers" | "comparison" | "node" | "snapshot" | "none";
  readonly data: "kept" | "gone" | "unreadable";
  /** Whether a supervisor starts it again with what it has: seldom, where that helps only against a misjudgement. */
  readonly restart: "soon" | "seldom" | "never";
}

const EXIT_CAUSES: Readonly<Record<ExitCause, ExitMeaning>> = {
  "data-missing": { cure: "replacement", data: "gone", restart: "never" },
  "data-corrupt": { cure: "replacement", data: "unreadable", restart: "seldom" },
  // Its peers refuse a founder that begins anew only if they know it as one that had begun already (R6).
  "already-bootstrapped": { cure: "replacement", data: "gone", restart: "soon" },
  removed: { cure: "replacement", data: "kept", restart: "never" },
  // A copy of a voter may be the good one (R33).
  "data-differs": { cure: "comparison", data: "kept", restart: "soon" },
  "member-list-mismatch": { cure: "peers", data: "kept", restart: "soon" },
  "data-newer": { cure: "template", data: "kept", restart: "soon" },
  "bad-configuration": { cure: "template", data: "kept", restart: "soon" },
  "disk-full": { cure: "node", data: "kept", restart: "soon" },
  "address-in-use": { cure: "node", data: "kept", restart: "soon" },
  "restore-failed": { cure: "snapshot", data: "kept", restart: "soon" },
  killed: { cure: "none", data: "kept", restart: "soon" },
  unknown: { cure: "none", data: "kept", restart: "soon" },
};

export function meaningOf(cause: ExitCause): ExitMeaning {
  return EXIT_CAUSES[cause];
}

/** What the end of its process means; undefined for one that has not ended. */
export function exitOf({ workload }: Pick<MemberView, "workload">): ExitMeaning | undefined {
  return workload.state === "exited" ? meaningOf(workload.cause) : undefined;
}

/** Whether the next start would end the same way; `isSameStart`: with the same template and the same peers. */
export function wouldRepeat(cause: ExitCause, isSameStart: boolean): boolean {
  const { cure } = meaningOf(cause);
  return cure === "replacement" || (cure !== "none" && isSameStart);
}
