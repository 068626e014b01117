/**
 * Which installation of the operator looks after a cluster. Two that follow the same namespace would undo each other's
 * work, so the first one writes its name on the EtcdCluster, and any other one stands aside and tells so. The name is
 * that of its Lease: one whose Lease is gone or not renewed any more was uninstalled, and the cluster is taken over.
 */
import type { EtcdCluster } from "../../api/etcd-cluster.ts";
import type { KubeClient } from "../../kube/client.ts";
import { isReason } from "../../kube/errors.ts";
import type { EventRecorder } from "../../kube/events.ts";
import type { Log } from "../../kube/log.ts";
import { leases, refOf } from "../../kube/resources.ts";
import { ANNOTATIONS, CLUSTER_FINALIZER } from "../names.ts";
import { etcdClusters } from "../resources.ts";
import { clusterFields } from "../status/cluster-log.ts";

export interface InstallationOptions {
  readonly client: KubeClient;
  /** `namespace/name` of our own Lease. */
  readonly name: string;
  /** The API server's time. */
  readonly serverNow: () => number;
  readonly events: Pick<EventRecorder, "record">;
  readonly log: Log;
}

/**
 * A Lease is renewed every two seconds; an update of the other installation takes less than this. One that somebody
 * deleted comes back as soon as its operator misses it, so that its absence counts only when it lasts as well.
 */
const ABANDONED_MS = 60_000;
const ASK_AGAIN_MS = 30_000;
/** `namespace/name` of a Lease; the annotation can be written by people. */
const LEASE_NAME = /^([a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?)\/([a-z0-9](?:[a-z0-9.-]{0,251}[a-z0-9])?)$/;

export class Installation {
  readonly #options: InstallationOptions;
  /** Who looks after the clusters that are not ours, by key. */
  readonly #others = new Map<string, string>();
  /** Since when the Leases of others are gone and when that was seen last, by name. */
  readonly #missing = new Map<string, { readonly since: number; readonly seen: number }>();

  constructor(options: InstallationOptions) {
    this.#options = options;
  }

  /** How many clusters another installation looks after. */
  get elsewhere(): number {
    return this.#others.size;
  }

  forget(key: string): void {
    this.#others.delete(key);
  }

  /** The cluster, once it is ours; otherwise when to ask again. */
  async claim(key: string, cluster: EtcdCluster): Promise<EtcdCluster | { readonly againMs: number }> {
    const { name } = this.#options;
    const { annotations, deletionTimestamp, finalizers = [] } = cluster.metadata;
    const holder = annotations?.[ANNOTATIONS.operator];
    if (holder === name) {
      this.forget(key);
      return cluster;
    }
    // Nothing is ours to do any more.
    if (deletionTimestamp !== undefined && !finalizers.includes(CLUSTER_FINALIZER)) return cluster;
    if (holder !== undefined && !(await this.#isAbandoned(holder))) {
      this.#tell(key, cluster, holder);
      return { againMs: ASK_AGAIN_MS };
    }
    const ours = await this.#write(key, cluster);
    if (holder !== undefined)
      this.#record(
        ours,
        "Normal",
        "TakenOver",
        `Taken over from the installation ${holder}, whose Lease is gone or no longer renewed.`,
      );
    this.forget(key);
    return ours;
  }

  /** In the version that was read: of two that claim it at once, one fails and reads again. */
  async #write(key: string, { metadata }: EtcdCluster): Promise<EtcdCluster> {
    const { uid = "", resourceVersion = "", finalizers = [] } = metadata;
    const patch = {
      metadata: {
        annotations: { [ANNOTATIONS.operator]: this.#options.name },
        // What we make has to be taken away by us.
        ...(!finalizers.includes(CLUSTER_FINALIZER) && { finalizers: [...finalizers, CLUSTER_FINALIZER] }),
      },
    };
    return await this.#options.client.patch(etcdClusters, refOf(key), patch, { uid, resourceVersion });
  }

  /** One that cannot be read may well be alive. */
  async #isAbandoned(holder: string): Promise<boolean> {
    const [, namespace, name] = LEASE_NAME.exec(holder) ?? [];
    if (namespace === undefined || name === undefined) return true;
    try {
      const lease = await this.#options.client.find(leases, { namespace, name });
      const now = this.#options.serverNow();
      const renewed = Date.parse(lease?.spec?.renewTime ?? "");
      if (!Number.isNaN(renewed)) {
        this.#missing.delete(holder);
        return now - renewed > ABANDONED_MS;
      }
      const before = this.#missing.get(holder);
      // What was not looked at meanwhile may have been there meanwhile.
      const since = before !== undefined && now - before.seen <= 2 * ASK_AGAIN_MS ? before.since : now;
      this.#missing.set(holder, { since, seen: now });
      return now - since > ABANDONED_MS;
    } catch (error) {
      if (isReason(error, "Forbidden")) return false;
      throw error;
    }
  }

  #tell(key: string, cluster: EtcdCluster, holder: string): void {
    if (this.#others.get(key) === holder) return;
    this.#others.set(key, holder);
    const { name, log } = this.#options;
    const { namespace, name: clusterName } = cluster.metadata;
    const note =
      `Two installations of the operator follow this namespace: ${holder} manages this cluster, and ${name} leaves it alone. ` +
      `Let only one follow it (--namespace, --exclude-namespace). If ${holder} was uninstalled or no longer follows this namespace, ` +
      `remove the annotation from each cluster: kubectl annotate etcdcluster -n ${namespace} ${clusterName} ${ANNOTATIONS.operator}-`;
    log("warn", note, clusterFields(key));
    this.#record(cluster, "Warning", "ManagedElsewhere", note);
  }

  #record(regarding: EtcdCluster, type: "Normal" | "Warning", reason: string, note: string): void {
    this.#options.events.record({ regarding, type, reason, action: "Claim", note });
  }
}
