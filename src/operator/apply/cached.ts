/** What the list of wanted objects follows from, beside the view. */
import type { PersistentVolumeClaim, Pod } from "kubernetes-types/core/v1.d.ts";
import type { EtcdCluster } from "../../api/etcd-cluster.ts";
import type { EtcdMember } from "../../api/etcd-member.ts";
import type { Unseen } from "../cache/live-reads.ts";
import type { OwnObjects } from "../cache/stores.ts";
import type { OperatorPods } from "../render/network-policy.ts";

/** What the caches hold of the cluster. */
export interface Cached extends OwnObjects {
  readonly cluster: Pick<EtcdCluster, "metadata" | "spec"> | undefined;
  readonly member: (name: string) => EtcdMember | undefined;
  readonly claim: (name: string) => PersistentVolumeClaim | undefined;
  readonly pod: (name: string) => Pod | undefined;
  /** Volumes of ours that no cache holds. */
  readonly unseen: readonly Unseen[];
  /** The API server serves the kinds of cert-manager. */
  readonly hasCertManager: boolean;
  readonly clusterDomain: string | undefined;
  /** Our own; undefined where this process is not told of them. */
  readonly operatorPods: OperatorPods | undefined;
}
