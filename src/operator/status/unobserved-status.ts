/**
 * The status of a cluster that is not looked at: its spec is invalid and it has no members yet, its marks cannot be
 * read, or each look ends in an internal error. It says why and what to do, and claims nothing else (I6): what was true
 * is unknown now. Pure.
 */
import type { EtcdClusterStatus } from "../../api/etcd-cluster-status.ts";
import { CLUSTER_CONDITIONS, type ClusterConditionType } from "../../api/status-words.ts";
import type { ApiError } from "../../api/validate.ts";
import type { StatusReason } from "../../core/messages/condition-reasons.ts";
import {
  condition,
  findCondition,
  no,
  sentence,
  unknown,
  yes,
  type Verdict,
} from "../../core/status/condition.ts";
import { fitCluster } from "./fit-status.ts";

type StatusFrom = (
  previous: EtcdClusterStatus | undefined,
  generation: number,
  now: number,
) => EtcdClusterStatus;

/** That the spec is not applied is certain, whatever runs. */
export function invalidStatus(errors: readonly ApiError[]): StatusFrom {
  const what = errors.map(({ path, message }) => `${path}: ${message}`).join("; ");
  const message = `the cluster is invalid (${what}), so nothing was changed. Correct it; running members are unaffected`;
  return unobserved("InvalidSpec", no("InvalidSpec", message), "not observed while the cluster is invalid");
}

export function faultStatus(error: unknown): StatusFrom {
  const what = error instanceof Error ? `${error.name}: ${error.message}` : String(error);
  const message = `internal error while reconciling this cluster (${what}). Running members are unaffected. Undo the last edit, and report the operator's log`;
  return unobserved(
    "OperatorFault",
    unknown("OperatorFault", message),
    "not observed because of an internal error of the operator",
  );
}

function unobserved(reason: StatusReason, ready: Verdict, others: string): StatusFrom {
  const { message } = ready;
  const reported: Readonly<Partial<Record<ClusterConditionType, Verdict>>> = {
    Ready: ready,
    Reconciling: no(reason, message),
    Stalled: yes(reason, message),
  };
  return (previous, generation, now) =>
    fitCluster({
      ...previous,
      observedGeneration: generation,
      phase: ready.status === "Unknown" ? "Unknown" : "Stalled",
      message: sentence(message),
      // Only some clusters have something to say about auth.
      conditions: CLUSTER_CONDITIONS.filter(
        (type) => type !== "AuthReady" || findCondition(previous?.conditions, type),
      ).map((type) =>
        condition(
          type,
          reported[type] ?? unknown(reason, others),
          findCondition(previous?.conditions, type),
          {
            now,
            generation,
          },
        ),
      ),
      plan: [],
    });
}
