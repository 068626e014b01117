/** What the effects for snapshots and schedules are carried out with. */
import type { KubeClient } from "../../kube/client.ts";
import type { Stores } from "../cache/stores.ts";
import type { EtcdImage } from "../render/verify-pod.ts";

export interface SnapshotContext {
  readonly client: KubeClient;
  readonly stores: Pick<Stores, "snapshot" | "schedule">;
  /** Of the snapshots and their cluster. */
  readonly namespace: string;
  /** Our own, which Jobs run; undefined where nobody told us. */
  readonly image: string | undefined;
  /** The Secret with the client certificate of the cluster; undefined without TLS, and where nothing is taken. */
  readonly secret?: string | undefined;
  /** Of a version, as the cluster pulls it; where there is no cluster, as the etcd project publishes it. */
  readonly etcdImage?: (version: string) => EtcdImage;
}
