/**
 * The status of a cluster that is not looked at: its spec is invalid and it has no members yet, its marks cannot be
 * read, or each look ends in an internal error. It says why and what to do, and claims nothing else (I6): what was true
 * is unknown now. Pure.
 */
import type { EtcdClusterStatus } from "../../api/etcd-cluster-status.ts";
import { CLUSTER_CONDITIONS, type ClusterConditionType } from "../../api/status-words.ts";
import type { ApiError } from "../../api/validate.ts";
import { conditionVerdict as said, NOT_OBSERVED } from "../../core/messages/condition-verdicts.ts";
import {
  condition,
  findCondition,
  isFalse,
  isTrue,
  isUnknown,
  sentence,
  unknown,
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
  return unobserved(isFalse(said("SpecInvalid", { errors: what })), NOT_OBSERVED.InvalidSpec);
}

export function faultStatus(error: unknown): StatusFrom {
  const what = error instanceof Error ? `${error.name}: ${error.message}` : String(error);
  return unobserved(isUnknown(said("OperatorFails", { error: what })), NOT_OBSERVED.OperatorFault);
}

function unobserved(ready: Verdict, others: string): StatusFrom {
  const { reason, message } = ready;
  const reported: Readonly<Partial<Record<ClusterConditionType, Verdict>>> = {
    Ready: ready,
    Reconciling: isFalse(ready),
    Stalled: isTrue(ready),
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
