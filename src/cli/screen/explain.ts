/**
 * What a cluster is doing and waiting for, from its status alone: the same for everyone who may read it, without
 * asking the operator. Reasons come with what to do, from the table behind docs/reasons.md.
 */
import type { EtcdClusterStatus } from "../../api/etcd-cluster-status.ts";
import type { Condition } from "../../api/metadata.ts";
import { BACKED_UP, type ClusterConditionType } from "../../api/status-words.ts";
import { CONDITION_REASONS } from "../../core/messages/condition-reasons.ts";
import { REASONS } from "../../core/messages/reasons.ts";
import { stopped } from "../../core/messages/words.ts";
import { findCondition } from "../../core/status/condition.ts";
import type { Explanation, Reason } from "../../core/status/why.ts";

/** The status in which each condition means that all is well. */
const WELL: Readonly<Record<ClusterConditionType | typeof BACKED_UP, Condition["status"]>> = {
  Ready: "True",
  Reconciling: "False",
  Stalled: "False",
  Available: "True",
  Degraded: "False",
  Quorate: "True",
  TLSReady: "True",
  AuthReady: "True",
  SpaceLow: "False",
  Corrupt: "False",
  BackedUp: "True",
};

/** As the spec wants it, or not known because of something that another condition says. */
const NOTHING_NEW: ReadonlySet<string> = new Set([
  "Disabled",
  "Hibernated",
  "NotObserved",
  "FirstSnapshotPending",
]);
/** Their sentence ends with what to do. */
const AT_REST: ReadonlySet<string> = new Set(["Paused", "Hibernated"]);

/** Not as it should be, in the order of the list. */
export function conditionsThatMatter(status: EtcdClusterStatus | undefined): Condition[] {
  return (status?.conditions ?? []).filter(
    ({ type, status: value, reason }) =>
      Object.hasOwn(WELL, type) &&
      WELL[type as keyof typeof WELL] !== value &&
      (type === "Ready" || !NOTHING_NEW.has(reason)),
  );
}

/** Backups keep nothing back, so no wait speaks of them: a cluster without good ones would look Healthy. */
export function withBackups(told: Explanation, status: EtcdClusterStatus | undefined): Explanation {
  const missing = status?.conditions?.find(({ type }) => type === BACKED_UP);
  if (missing?.status !== "False") return told;
  const { reason, message } = missing;
  const isReady = findCondition(status?.conditions, "Ready")?.status === "True";
  const next = remedyWithoutLinks(reason);
  const about: Reason = {
    reason,
    message,
    ...(next !== undefined && { next }),
    ...(isReady && { inSummary: true }),
  };
  const others = told.reasons.filter((one) => one.reason !== reason);
  return {
    summary: isReady
      ? stopped(`The cluster matches its spec, but is not backed up: ${message}`)
      : told.summary,
    reasons: isReady ? [about, ...others] : [...others, about],
    then: told.then,
  };
}

/** The page of reasons links to others. */
function remedyWithoutLinks(reason: string): string | undefined {
  const known: Readonly<Record<string, { readonly remedy: string }>> = CONDITION_REASONS;
  return Object.hasOwn(known, reason)
    ? known[reason]?.remedy.replaceAll(/\[([^\]]+)\]\([^)]*\)/g, "$1")
    : undefined;
}

export function explanationOf(status: EtcdClusterStatus | undefined): Explanation {
  return withBackups(explained(status), status);
}

function explained(status: EtcdClusterStatus | undefined): Explanation {
  const conditions = conditionsThatMatter(status);
  const find = (type: ClusterConditionType) => conditions.find((one) => one.type === type);
  const reasons = distinct(conditions, find("Stalled")?.reason);
  const then = (status?.plan ?? []).map(({ text }) => text);
  if (status?.phase === undefined)
    return {
      summary:
        "No status yet: the operator has not seen this cluster. Check that it is running and watches this namespace.",
      reasons,
      then,
    };
  const [stalled, reconciling, ready] = [find("Stalled"), find("Reconciling"), find("Ready")];
  const waiting = status.plan?.[0]?.waitingFor;
  const saysMain = (lead: string, { reason, message }: Condition) => ({
    summary: stopped(`${lead}${message}`),
    reasons: reasons.map((one) => (one.reason === reason ? { ...one, inSummary: true as const } : one)),
    then,
  });
  if (stalled) return saysMain("Waiting for a person: ", stalled);
  if (reconciling && isReason(reconciling.reason)) return saysMain("Waiting: ", reconciling);
  if (waiting !== undefined) return { summary: stopped(`Waiting: ${waiting}`), reasons, then };
  if (reconciling) return saysMain("In progress: ", reconciling);
  return ready
    ? saysMain("", ready)
    : { summary: "Nothing to do: the cluster matches its spec.", reasons, then };
}

/** Several conditions often say the same; a sentence that needs a person ends with what to do already. */
function distinct(conditions: readonly Condition[], stalled: string | undefined): Reason[] {
  const seen = new Set<string>();
  return conditions.flatMap(({ reason, message }) => {
    if (seen.has(reason)) return [];
    seen.add(reason);
    const next =
      isReason(reason) && reason !== stalled && !AT_REST.has(reason) ? REASONS[reason].remedy : undefined;
    return [{ reason, message, ...(next !== undefined && { next }) }];
  });
}

/** Of a wait; anything else is what is being done. */
function isReason(reason: string): reason is keyof typeof REASONS {
  return Object.hasOwn(REASONS, reason);
}
