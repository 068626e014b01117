/**
 * Now and then the data of all voters is compared, on every version, alarm or not (R30, H8); and when a voter
 * is back that ended by itself, where etcd has not done so at its start.
 */
import { millisecondsOf } from "../../api/duration.ts";
import { act } from "../steps/outcome.ts";
import type { Rule } from "../rule.ts";
import { minorNumber } from "../version/version.ts";
import { hasLeft, type MemberView } from "../view.ts";

/** Comparing reads all data: never more often than this, also if a node's clock is ahead of ours. */
const REST_MS = 10_000;
/** 3.5 knows its peers only after it has replayed its log: its check at the start finds nobody to ask, and passes. */
const CHECKS_AT_START = minorNumber("3.6");

export const compareHashes: Rule = (view) => {
  const interval = millisecondsOf(view.spec.maintenance.hashCheck.interval);
  if (!view.established || !view.hasQuorum || interval === 0 || view.voters < 2) return [];
  if (view.members.some((member) => !member.healthy && !hasLeft(view, member))) return [];
  const last = view.observation.etcd.hashes?.at;
  if (last === undefined || view.now - last >= interval)
    return [act("maintain", "ComparisonDue", {}, { kind: "CompareHashes" })];
  const back = view.members.find((member) => member.isVoter && cameBackUnchecked(member, last));
  if (!back || view.now - last < REST_MS) return [];
  return [act("maintain", "ComparedAfterEnd", { member: back.name }, { kind: "CompareHashes" })];
};

/** A restart on purpose makes the workload anew, and then it has not restarted. */
function cameBackUnchecked({ workload, record }: MemberView, last: number): boolean {
  if (workload.state !== "running" || workload.restarts === 0 || workload.since <= last) return false;
  const { version, options } = record.template;
  return !options.corruptCheck.initial || minorNumber(version) < CHECKS_AT_START;
}
