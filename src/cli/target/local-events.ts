/** The latest steps of a controller on this machine, in the form of Kubernetes events. */
import type { LocalReport } from "../../local/operations.ts";
import type { ClusterEvent } from "./target.ts";

export function eventsOf({ decisions, cluster }: Pick<LocalReport, "decisions" | "cluster">): ClusterEvent[] {
  return decisions.map(({ at, kind, purpose, step, member, reason, error }) => ({
    at,
    type: error === undefined ? "Normal" : "Warning",
    reason: purpose ?? kind ?? step,
    object: member === undefined ? `EtcdCluster/${cluster.metadata.name}` : `EtcdMember/${member}`,
    message: error === undefined ? reason : `${reason} – failed: ${error}`,
    count: 1,
  }));
}
