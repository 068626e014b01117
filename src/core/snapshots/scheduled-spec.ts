/** The spec of the snapshots of a schedule. */
import type { EtcdSnapshotSpec } from "../../api/etcd-snapshot.ts";
import type { ScheduleFacts } from "./facts.ts";

export function specFor({ spec }: Pick<ScheduleFacts, "spec">): EtcdSnapshotSpec {
  const { cluster, destination, compression, encryption, serviceAccountName, activeDeadlineSeconds } = spec;
  return {
    cluster,
    destination,
    // spec.verify of the schedule says when one of them is.
    verify: false,
    ...(compression !== undefined && { compression }),
    ...(encryption !== undefined && { encryption }),
    ...(serviceAccountName !== undefined && { serviceAccountName }),
    ...(activeDeadlineSeconds !== undefined && { activeDeadlineSeconds }),
  };
}
