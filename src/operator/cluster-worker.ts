/**
 * The worker of one cluster, as long as that cluster exists: the control loop over the Kubernetes platform, turned
 * once whenever the queue says so. A cluster that cannot be understood is reported so and left as it is.
 */
import type { EtcdCluster } from "../api/etcd-cluster.ts";
import { Loop, type Pass } from "../control/loop.ts";
import { Conflict } from "../control/platform.ts";
import type { TranscriptEntry } from "../control/transcript.ts";
import { sameStatus } from "../core/status/status-write.ts";
import { EtcdError } from "../etcd/errors.ts";
import type { KubeClient } from "../kube/client.ts";
import { KubeError } from "../kube/errors.ts";
import type { EventRecorder } from "../kube/events.ts";
import type { Log } from "../kube/log.ts";
import type { Outcome } from "../kube/queue.ts";
import { refOf } from "../kube/resources.ts";
import { LeaseLost } from "../kube/term.ts";
import type { Clock } from "../seams/clock.ts";
import { KubeFailure } from "../seams/kube-transport.ts";
import type { Pki } from "../seams/pki.ts";
import type { Random } from "../seams/random.ts";
import { Announcer } from "./status/announcer.ts";
import type { ClockSkew } from "./observe/clock-skew.ts";
import { faultStatus, invalidStatus } from "./status/unobserved-status.ts";
import { ClusterLog } from "./status/cluster-log.ts";
import type { Dependents } from "./dependents/dependents.ts";
import type { Fence } from "./process/fencing.ts";
import { mergePatch } from "./apply/merge-patch.ts";
import { CLUSTER_FINALIZER } from "./names.ts";
import type { NodeClocks } from "./observe/node-clocks.ts";
import { restMs, wholeMs } from "./process/pace.ts";
import { InvalidCluster, KubePlatform } from "./platform.ts";
import type { EtcdReach } from "./reach/reach.ts";
import type { OperatorPods } from "./render/network-policy.ts";
import { etcdClusters } from "./resources.ts";
import type { Stores } from "./cache/stores.ts";

export interface WorkerOptions {
  readonly client: KubeClient;
  readonly stores: Stores;
  /** The objects of other kinds that name the cluster. */
  readonly dependents: Pick<Dependents, "report">;
  readonly fence: Fence;
  readonly clock: Clock;
  readonly random: Random;
  readonly pki: Pki;
  readonly skew: ClockSkew;
  readonly nodeClocks: NodeClocks;
  readonly clusterDomain?: string;
  readonly imageRepository?: string;
  readonly image?: string;
  /** Our own, which NetworkPolicies let in; without them none is made. */
  readonly operatorPods?: OperatorPods;
  /** Makes a way to the members of one cluster. */
  readonly reach: () => EtcdReach;
  readonly events: Pick<EventRecorder, "record">;
  readonly log: Log;
  /** Clusters are looked at as if there were at least so many. */
  readonly leastClusters?: number;
  readonly onPass?: (pass: Pass) => void;
  readonly onStep?: (entry: TranscriptEntry) => void;
}

/** Nobody corrects a spec without an event. */
const INVALID_MS = 60_000;
/** Turns in a row that end in a fault of ours before the status tells it: one may be chance. */
const FAULTS_REPORTED = 3;

export class ClusterWorker {
  /** Of the cluster it is for; another one of the same name gets another worker. */
  readonly uid: string;
  readonly #key: string;
  readonly #options: WorkerOptions;
  readonly #platform: KubePlatform;
  readonly #loop: Loop;
  readonly #announcer: Announcer;
  readonly #log: ClusterLog;
  /** The newest generation of the spec that was looked at, by us or, as the status says, by whoever led before. */
  #seen = 0;
  #faults = 0;

  constructor(key: string, uid: string, options: WorkerOptions) {
    const { stores, clock, random, fence, events, leastClusters = 0, onPass, onStep } = options;
    this.uid = uid;
    this.#key = key;
    this.#options = options;
    this.#platform = new KubePlatform({ ...options, reach: options.reach(), key });
    this.#announcer = new Announcer(events, () => stores.cluster(key));
    this.#log = new ClusterLog(options.log, key);
    const asMany = () => Math.max(stores.clusters, leastClusters);
    this.#loop = new Loop({
      platform: this.#platform,
      clock,
      restMs: () => restMs(asMany(), random),
      wholeMs: () => wholeMs(asMany(), random),
      beforeEffect: () => fence.check(),
      onPass: (pass) => {
        this.#announcer.pass(pass);
        this.#log.pass(pass);
        this.#warnOnce(pass);
        onPass?.(pass);
      },
      onStep: (entry) => {
        this.#announcer.step(entry);
        this.#log.step(entry);
        onStep?.(entry);
      },
    });
  }

  async turn(cluster: EtcdCluster): Promise<Outcome> {
    const { deletionTimestamp, finalizers = [] } = cluster.metadata;
    const held = finalizers.includes(CLUSTER_FINALIZER);
    // Its end was ours to delay and is not any more; what it leaves behind is let go when it is gone (orphans.ts).
    if (deletionTimestamp !== undefined && !held) return;
    if (!held) await this.#hold(cluster, [...finalizers, CLUSTER_FINALIZER]);
    this.#seen = Math.max(this.#seen, cluster.status?.observedGeneration ?? 0);
    try {
      const next = await this.#loop.pass();
      this.#faults = 0;
      return next === "gone" ? undefined : { againMs: next };
    } catch (error) {
      if (error instanceof InvalidCluster) {
        this.#announcer.invalid(error, cluster.metadata.generation ?? 0);
        await this.#tell(cluster, invalidStatus(error.errors));
        await this.#options.dependents.report(this.#key, {
          is: "invalid",
          uid: this.uid,
          why: error.message,
        });
        return { againMs: INVALID_MS };
      }
      this.#faults = isTransient(error) ? 0 : this.#faults + 1;
      // Otherwise what was last said would stand for as long as the fault does. Should it fail to be reported, the fault is
      // still what matters, and the next turn tells it.
      if (this.#faults >= FAULTS_REPORTED)
        await this.#tell(cluster, faultStatus(error)).catch(() => undefined);
      throw error;
    }
  }

  async close(): Promise<void> {
    await this.#platform.close();
  }

  #warnOnce({ observation, status }: Pass): void {
    const { generation } = observation.cluster;
    if (generation <= this.#seen) return;
    this.#seen = generation;
    this.#announcer.warn(status.warnings ?? []);
  }

  /** Before anything is made: what we make has to be taken away by us. */
  async #hold({ metadata }: EtcdCluster, finalizers: string[]): Promise<void> {
    const { uid = "", resourceVersion = "" } = metadata;
    const patch = { metadata: { finalizers } };
    await this.#options.client.patch(etcdClusters, refOf(this.#key), patch, { uid, resourceVersion });
  }

  async #tell(cluster: EtcdCluster, statusFrom: ReturnType<typeof faultStatus>): Promise<void> {
    const { client, stores, clock } = this.#options;
    const { uid = "", generation = 0 } = cluster.metadata;
    const before = stores.cluster(this.#key)?.status;
    const status = statusFrom(before, generation, clock.now());
    this.#log.state(status);
    const patch = sameStatus(before, status, 0) ? undefined : mergePatch({ ...before }, { ...status });
    if (patch) await client.patchStatus(etcdClusters, refOf(this.#key), patch, { uid });
  }
}

/** What may happen at any time to the best of programs; anything else is a fault of this one. */
function isTransient(error: unknown): boolean {
  return [KubeError, KubeFailure, EtcdError, LeaseLost, Conflict].some((kind) => error instanceof kind);
}
