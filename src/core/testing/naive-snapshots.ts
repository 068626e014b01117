/** The snapshot before another minor version, said once more without the code of the rules: see naive-invariants.ts. */
import assert from "node:assert/strict";
import type { Action } from "../action.ts";
import type { Observation } from "../observation.ts";

const HOUR_MS = 3_600_000;
const minorOf = (version: string) => Number(version.split(".")[1]);

/** The version that a step gives to a member. */
export function versionGiven(action: Action): string | undefined {
  if (action.kind === "CreateMember") return action.record.template.version;
  return action.kind === "UpdateMember" ? action.change.template?.version : undefined;
}

/** Nobody is the first of another minor version before a snapshot of the last hour is good; `isQuorate`: clients are served. */
export function assertSnapshotBefore(o: Observation, action: Action, isQuorate: boolean): void {
  const version = versionGiven(action);
  const { cluster, snapshots: state, now } = o;
  const { approved = "", spec, marks, uid } = cluster;
  if (version === undefined || !isQuorate || spec.update.snapshotBefore === false) return;
  if (/without-snapshot/.test(approved)) return;
  const schedules = state?.schedules ?? [];
  const isAsked = schedules.some((one) => !one.deleting && !one.spec.suspend) || state?.unreadable?.length;
  if (!isAsked) return;
  const present = o.members
    .filter(({ record }) => record.leaving === undefined && record.token === `${uid}-${marks.life}`)
    .map(({ record }) => minorOf(record.template.version));
  const to = minorOf(version);
  if (present.length === 0 || present.includes(to)) return;
  const downgrades = o.members.some(({ answer }) => answer.reachable && answer.downgrade?.enabled);
  // What the cluster has not agreed on is taken back, and what some have passed is caught up with.
  if (!present.every((minor) => minor < to) && !(downgrades && present.every((minor) => minor > to))) return;
  const isGood = state?.snapshots.some(({ before, status, createdAt }) => {
    const at = Date.parse(status.completedAt ?? "") || createdAt;
    return before === `3.${to}` && status.phase === "Succeeded" && now - at < HOUR_MS;
  });
  assert.ok(isGood, `it is moved to ${version} before a snapshot is good`);
}
