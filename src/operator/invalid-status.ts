/**
 * The status of a cluster of which nothing can be understood, because it has no members yet or because its marks cannot
 * be read: which field, why, and what to do. It is not looked at until it is corrected, so nothing is claimed of it
 * (I6): what was true is unknown now. What runs goes on running. Pure.
 */
import type { EtcdClusterStatus } from "../api/etcd-cluster-status.ts";
import type { Condition } from "../api/metadata.ts";
import type { ApiError } from "../api/validate.ts";
import { timestamp } from "../core/conditions.ts";
import { fitCluster } from "./fit-status.ts";

const REASON = "InvalidSpec";

export function invalidStatus(
  previous: EtcdClusterStatus | undefined,
  errors: readonly ApiError[],
  generation: number,
  now: number,
): EtcdClusterStatus {
  const what = errors.map(({ path, message }) => `${path}: ${message}`).join("; ");
  const message = `the cluster cannot be understood, and nothing is changed: ${what}. Correct it; what runs goes on as it was`;
  const before = previous?.conditions ?? [];
  const say = (type: string, status: Condition["status"], words: string): Condition => {
    const known = before.find((condition) => condition.type === type);
    return {
      type,
      status,
      reason: REASON,
      message: words,
      lastTransitionTime: known?.status === status ? known.lastTransitionTime : timestamp(now),
      observedGeneration: generation,
    };
  };
  const others = before.filter(({ type }) => type !== "Progressing");
  return fitCluster({
    ...previous,
    observedGeneration: generation,
    phase: `Needs attention: ${message}`,
    conditions: [
      ...others.map(({ type }) =>
        say(type, "Unknown", "not looked at while the cluster cannot be understood"),
      ),
      say("Progressing", "False", message),
    ],
    plan: [],
  });
}
