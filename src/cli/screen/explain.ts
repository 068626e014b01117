/**
 * What a cluster is doing and waiting for, from its status alone: the same for everyone who may read it, without
 * asking the operator. Reasons come with what to do, from the table behind docs/reasons.md.
 */
import type { EtcdClusterStatus } from "../../api/etcd-cluster-status.ts";
import type { Condition } from "../../api/metadata.ts";
import type { ClusterConditionType } from "../../api/status-words.ts";
import { REASONS } from "../../core/messages/reasons.ts";
import type { Explanation, Reason } from "../../core/status/why.ts";

/** The status in which each condition means that all is well. */
const WELL: Readonly<Record<ClusterConditionType, Condition["status"]>> = {
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
};

/** As the spec wants it, or not known because of something that another condition says. */
const NOTHING_NEW: ReadonlySet<string> = new Set(["Disabled", "Hibernated", "NotObserved"]);
/** Their sentence ends with what to do. */
const AT_REST: ReadonlySet<string> = new Set(["Paused", "Hibernated"]);

/** Not as it should be, in the order of the list. */
export function conditionsThatMatter(status: EtcdClusterStatus | undefined): Condition[] {
  return (status?.conditions ?? []).filter(
    ({ type, status: value, reason }) =>
      Object.hasOwn(WELL, type) &&
      WELL[type as ClusterConditionType] !== value &&
      (type === "Ready" || !NOTHING_NEW.has(reason)),
  );
}

export function explanationOf(status: EtcdClusterStatus | undefined): Explanation {
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
  const main = stalled ?? reconciling ?? ready;
  const summary =
    stalled !== undefined
      ? `Waiting for a person: ${main?.message}`
      : waiting !== undefined
        ? `Waiting: ${waiting}`
        : main === undefined
          ? "Nothing to do: the cluster matches its spec."
          : reconciling === undefined
            ? main.message
            : `${isReason(main.reason) ? "Waiting" : "In progress"}: ${main.message}`;
  return { summary: ended(summary), reasons, then };
}

/** Several conditions often say the same; a sentence that needs a person ends with what to do already. */
function distinct(conditions: readonly Condition[], stalled: string | undefined): Reason[] {
  const seen = new Set<string>();
  return conditions.flatMap(({ reason, message }) => {
    if (seen.has(reason) || seen.has(message)) return [];
    seen.add(reason).add(message);
    const next =
      isReason(reason) && reason !== stalled && !AT_REST.has(reason) ? REASONS[reason].remedy : undefined;
    return [{ reason, message, ...(next !== undefined && { next }) }];
  });
}

/** Of a wait; anything else is what is being done. */
function isReason(reason: string): reason is keyof typeof REASONS {
  return Object.hasOwn(REASONS, reason);
}

function ended(text: string): string {
  return /[.?!]$/.test(text) ? text : `${text}.`;
}
