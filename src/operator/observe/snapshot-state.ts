/** The snapshots that name a cluster, and what keeps all of them from being begun. From caches alone. */
import type { Secret } from "kubernetes-types/core/v1.d.ts";
import type { Blocked, SnapshotState } from "../../core/snapshots/facts.ts";
import type { ClusterFacts } from "../../core/observation.ts";
import { isControlledBy } from "../../kube/resources.ts";
import { snapshotSecretName } from "../names.ts";
import type { ClockSkew } from "./clock-skew.ts";
import type { Reports } from "./follower-facts.ts";
import type { Transfers } from "./job-facts.ts";
import { schedulesFrom, snapshotsFrom, type SnapshotObjects } from "./snapshot-facts.ts";

export interface StateOptions {
  /** Our own, which Jobs run. */
  readonly image: string | undefined;
  readonly skew: Pick<ClockSkew, "serverNow">;
  /** The cluster with its Secrets, where it is known. */
  readonly cluster?: ClusterFacts;
  readonly secrets?: readonly Secret[];
  /** Whether any member needs a certificate of its clients. */
  readonly secure?: boolean;
  readonly reports?: Reports;
  readonly transfers?: Transfers;
}

/** Undefined where there are none. */
export function snapshotStateOf(
  found: SnapshotObjects,
  { image, skew, cluster, secrets = [], secure = false, reports = () => undefined, transfers }: StateOptions,
): SnapshotState | undefined {
  if (found.snapshots.length + found.schedules.length === 0) return undefined;
  const blocked =
    image === undefined
      ? IMAGE_UNKNOWN
      : cluster && secure
        ? withoutCertificate(cluster, secrets)
        : undefined;
  const schedules = schedulesFrom(found, skew.serverNow(), reports);
  return {
    snapshots: snapshotsFrom(found, { now: skew.serverNow(), transfers }),
    ...(schedules.length > 0 && { schedules }),
    ...(blocked && { blocked }),
    followsWith: [image, secure && cluster ? snapshotSecretName(cluster) : ""].join(" "),
  };
}

const IMAGE_UNKNOWN: Blocked = {
  reason: "ImageUnknown",
  message: "the operator does not know its own image, which the Job needs; start it with --image",
};

function withoutCertificate(cluster: ClusterFacts, secrets: readonly Secret[]): Blocked | undefined {
  const snapshot = snapshotSecretName(cluster);
  const isThere = secrets.some(
    (secret) => secret.metadata?.name === snapshot && isControlledBy(secret, cluster.uid),
  );
  if (isThere) return undefined;
  const paused = cluster.spec.paused ? "; it is issued once the cluster is resumed" : "";
  return {
    reason: "CertificatePending",
    message: `waiting for the client certificate in Secret ${snapshot}${paused}`,
  };
}
