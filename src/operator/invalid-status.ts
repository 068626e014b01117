/**
 * The status of a cluster that cannot be understood: which field, why, and what to do. Everything else stays as it
 * was last seen; what runs goes on running. Pure.
 */
import type { EtcdClusterStatus } from "../api/etcd-cluster-status.ts";
import type { ApiError } from "../api/validate.ts";
import { timestamp } from "../core/conditions.ts";

const LONGEST_PHASE = 1_000;

export function invalidStatus(
  previous: EtcdClusterStatus | undefined,
  errors: readonly ApiError[],
  generation: number,
  now: number,
): EtcdClusterStatus {
  const what = errors.map(({ path, message }) => `${path}: ${message}`).join("; ");
  const message = `the cluster cannot be understood, and nothing is changed: ${what}. Correct it; what runs goes on as it was`;
  const before = previous?.conditions ?? [];
  const known = before.find(({ type }) => type === "Progressing");
  const lastTransitionTime = known?.status === "False" ? known.lastTransitionTime : timestamp(now);
  const progressing = {
    type: "Progressing",
    status: "False" as const,
    reason: "InvalidSpec",
    message: message.slice(0, 32_768),
    lastTransitionTime,
    observedGeneration: generation,
  };
  return {
    ...previous,
    observedGeneration: generation,
    phase: `Needs attention: ${message}`.slice(0, LONGEST_PHASE),
    conditions: [...before.filter(({ type }) => type !== "Progressing"), progressing],
    plan: [],
  };
}
