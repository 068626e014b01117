/**
 * The operator as a process: caches, the lease, one queue with a worker for each cluster, and a graceful end. Caches
 * are filled whether we lead or not, so that taking over takes no time; effects, reads of etcd and status are the
 * leader's alone.
 */
import type { Pass } from "../control/loop.ts";
import type { TranscriptEntry } from "../control/transcript.ts";
import { IdleConnections } from "../http2/idle.ts";
import { KubeClient, type CallReport } from "../kube/client.ts";
import type { KubeConfig } from "../kube/config.ts";
import { Controller } from "../kube/controller.ts";
import { EventRecorder } from "../kube/events.ts";
import { Lease, uniqueIdentity } from "../kube/lease.ts";
import { limited } from "../kube/limits.ts";
import { textOf, type Log } from "../kube/log.ts";
import type { Outcome, WorkQueue } from "../kube/queue.ts";
import { ServerTime } from "../kube/server-time.ts";
import { Http2Transport } from "../kube/transport.ts";
import { createPki } from "../pki/issue.ts";
import type { Clock } from "../seams/clock.ts";
import type { Disk } from "../seams/disk.ts";
import type { KubeTransport } from "../seams/kube-transport.ts";
import type { Pki } from "../seams/pki.ts";
import type { Random } from "../seams/random.ts";
import { ClockSkew } from "./observe/clock-skew.ts";
import { ClusterWorker } from "./cluster-worker.ts";
import { Installation } from "./process/installation.ts";
import { Dependents } from "./dependents/dependents.ts";
import { EFFECT_MS, Fence, fencedTransport } from "./process/fencing.ts";
import { idleConnections } from "./process/pace.ts";
import { NodeClocks } from "./observe/node-clocks.ts";
import { Orphans } from "./apply/orphans.ts";
import { overTheWire, type EtcdReach } from "./reach/reach.ts";
import type { OperatorPods } from "./render/network-policy.ts";
import { clusterFields } from "./status/cluster-log.ts";
import { checkRequirements } from "./process/requirements.ts";
import { Reviews } from "./serve/reviews.ts";
import { clusterSources } from "./cache/sources.ts";
import { Stores, type CacheFacts } from "./cache/stores.ts";
import { TakeOver, type CatchingUp } from "./cache/take-over.ts";

/** For those who look on: metrics, health, tests. */
export interface OperatorHooks {
  readonly onCall?: (call: CallReport) => void;
  readonly onPass?: (pass: Pass) => void;
  readonly onStep?: (entry: TranscriptEntry) => void;
  /** A cluster is gone. */
  readonly onForget?: (key: string) => void;
  /** Wraps each reconcile, to time it. */
  readonly timed?: (
    reconcile: (key: string, signal: AbortSignal) => Promise<Outcome>,
  ) => (key: string, signal: AbortSignal) => Promise<Outcome>;
}

export interface OperatorOptions {
  readonly config: KubeConfig;
  readonly clock: Clock;
  readonly random: Random;
  readonly disk: Disk;
  readonly log: Log;
  /** All when absent. */
  readonly namespaces?: readonly string[];
  /** Left to another installation; only without `namespaces`. */
  readonly excludedNamespaces?: readonly string[];
  readonly lease: {
    readonly namespace: string;
    readonly name: string;
    readonly durationMs?: number;
    readonly retryMs?: number;
  };
  /** Where Kubernetes' own names end; cluster.local when absent. */
  readonly clusterDomain?: string;
  /** Of the etcd image, for clusters that name none; the etcd project's own when absent. */
  readonly imageRepository?: string;
  /** Our own, which Jobs and init containers run; without it none is made. */
  readonly image?: string;
  /** Our own, which NetworkPolicies let in; without them none is made. */
  readonly operatorPods?: OperatorPods;
  readonly userAgent?: string;
  /** Given instead of connections of our own; closed with the operator. */
  readonly transport?: KubeTransport;
  /** Given instead of connections to etcd of our own, for each cluster. */
  readonly reach?: () => EtcdReach;
  readonly pki?: Pki;
  /** Which installation this is: clusters of another one are left alone. Its Lease, when absent. */
  readonly installation?: string;
  /** Unique for each process; made from the host's name when absent. */
  readonly identity?: string;
  /** Clusters are looked at as if there were at least so many: a test need not make them. */
  readonly leastClusters?: number;
  readonly hooks?: OperatorHooks;
}

/** Clusters that are worked on at the same time; one that does not answer holds its place for seconds only. */
const CONCURRENCY = 16;
const BACKOFF = { firstMs: 200, longestMs: 10_000 };
/** A renewal may only be late. */
const FENCED_MS = 1_000;
const FIELD_MANAGER = "quorate";

export class Operator {
  readonly identity: string;
  /** Who may read what it serves. */
  readonly reviews: Reviews;
  readonly #options: OperatorOptions;
  readonly #http: KubeTransport;
  readonly #plain: KubeClient;
  readonly #fence = new Fence();
  readonly #skew: ClockSkew;
  readonly #nodeClocks: NodeClocks;
  readonly #stores: Stores;
  readonly #events: EventRecorder;
  readonly #controller: Controller;
  readonly #lease: Lease;
  readonly #takeOver: TakeOver;
  readonly #workers = new Map<string, ClusterWorker>();
  readonly #orphans: Orphans;
  readonly #dependents: Dependents;
  readonly #installation: Installation;
  readonly #worker: ConstructorParameters<typeof ClusterWorker>[2];
  readonly #lost = Promise.withResolvers<"lost">();
  readonly #failed = Promise.withResolvers<never>();
  #synced = Promise.withResolvers<void>();

  constructor(options: OperatorOptions) {
    const {
      config,
      clock,
      random,
      disk,
      log,
      namespaces,
      excludedNamespaces,
      lease,
      hooks = {},
      userAgent = "quorate",
    } = options;
    this.#options = options;
    this.identity = options.identity ?? uniqueIdentity(random);
    this.#http = options.transport ?? new Http2Transport({ config, clock, disk, userAgent });
    const shared = { clock, fieldManager: FIELD_MANAGER, ...(hooks.onCall && { onCall: hooks.onCall }) };
    const serverTime = new ServerTime(clock);
    this.#skew = new ClockSkew(clock, serverTime);
    const bounded = limited(serverTime.listening(this.#http), clock);
    this.#plain = new KubeClient({ ...shared, transport: bounded });
    this.reviews = new Reviews(this.#plain, clock);
    const client = new KubeClient({
      ...shared,
      transport: fencedTransport(bounded, this.#fence),
      timeoutMs: EFFECT_MS,
    });
    this.#stores = new Stores({
      client,
      clock,
      random,
      log,
      ...(namespaces && { namespaces }),
      ...(excludedNamespaces && { excludedNamespaces }),
    });
    this.#nodeClocks = new NodeClocks(() => this.#skew.serverNow());
    this.#stores.nodes.onChange((change) => this.#nodeClocks.hear(change));
    this.#takeOver = new TakeOver({ clock, log, caches: () => this.#stores.catching() });
    this.#events = new EventRecorder({
      client: this.#plain,
      clock,
      random,
      controller: "etcd.quorate.dev/operator",
      instance: this.identity,
      log,
    });
    const idle = new IdleConnections(() => idleConnections(this.#stores.clusters));
    const { image } = options;
    this.#dependents = new Dependents({ client, stores: this.#stores, clock, skew: this.#skew, log, image });
    this.#installation = new Installation({
      client,
      name: options.installation ?? `${lease.namespace}/${lease.name}`,
      serverNow: () => this.#skew.serverNow(),
      events: this.#events,
      log,
    });
    this.#worker = {
      client,
      stores: this.#stores,
      dependents: this.#dependents,
      fence: this.#fence,
      clock,
      random,
      pki: options.pki ?? createPki(clock, random),
      skew: this.#skew,
      nodeClocks: this.#nodeClocks,
      reach: options.reach ?? (() => overTheWire(clock, idle)),
      events: this.#events,
      log,
      ...(options.clusterDomain !== undefined && { clusterDomain: options.clusterDomain }),
      ...(options.imageRepository !== undefined && { imageRepository: options.imageRepository }),
      ...(image !== undefined && { image }),
      ...(options.operatorPods && { operatorPods: options.operatorPods }),
      ...(options.leastClusters !== undefined && { leastClusters: options.leastClusters }),
      ...(hooks.onPass && { onPass: hooks.onPass }),
      ...(hooks.onStep && { onStep: hooks.onStep }),
    };
    this.#orphans = new Orphans(this.#worker);
    const reconcile = (key: string) => this.#reconcile(key);
    this.#controller = new Controller({
      name: "clusters",
      fields: clusterFields,
      clock,
      random,
      log,
      concurrency: CONCURRENCY,
      backoff: BACKOFF,
      sources: clusterSources(this.#stores),
      reconcile: hooks.timed?.(reconcile) ?? reconcile,
    });
    this.#lease = new Lease({
      ...lease,
      client: this.#plain,
      clock,
      random,
      identity: this.identity,
      log,
      onElected: (term) => {
        this.#fence.lead(term);
        this.#begin(term.signal).catch((error: unknown) => this.#failed.reject(error));
      },
      onLost: () => this.#lost.resolve("lost"),
    });
    // Rejected before anybody waits for it, it would end the process.
    this.#failed.promise.catch(() => undefined);
    this.#synced.promise.catch(() => undefined);
  }

  get queue(): WorkQueue {
    return this.#controller.queue;
  }

  get leads(): boolean {
    return this.#fence.leads;
  }

  /** How far our clock is ahead of the API server's; undefined before it answered. */
  get clockAheadMs(): number | undefined {
    return this.#skew.aheadMs;
  }

  /** The nodes whose clocks are off by more than 30 s, and by how much. */
  nodeClocksOff(): Iterable<readonly [node: string, aheadMs: number]> {
    return this.#nodeClocks.off();
  }

  /** Undefined unless we lead and wait for our caches to catch up. */
  get catchingUp(): CatchingUp | undefined {
    return this.#takeOver.catchingUp;
  }

  /** Clusters in namespaces that we follow and another installation looks after. */
  get clustersElsewhere(): number {
    return this.#installation.elsewhere;
  }

  caches(): CacheFacts[] {
    return this.#stores.facts();
  }

  /** Resolves when the caches hold everything once. */
  whenSynced(): Promise<void> {
    return this.#synced.promise;
  }

  /** Runs until the signal aborts, or the lease is lost: then the process ends and a new one begins afresh. */
  async run(signal: AbortSignal): Promise<"stopped" | "lost"> {
    const { namespaces, log } = this.#options;
    const ending = new AbortController();
    const stop = Promise.withResolvers<"stopped">();
    const onAbort = () => stop.resolve("stopped");
    signal.addEventListener("abort", onAbort, { once: true });
    if (signal.aborted) onAbort();
    try {
      const filling = this.#stores.start(ending.signal);
      filling.then(this.#synced.resolve, this.#synced.reject);
      const ready = checkRequirements(this.#plain, namespaces, log).then(() => this.#lease.start());
      const failing = Promise.all([ready, filling]).then(() => new Promise<never>(() => undefined));
      return await Promise.race([stop.promise, this.#lost.promise, this.#failed.promise, failing]);
    } finally {
      signal.removeEventListener("abort", onAbort);
      ending.abort(new Error("stopped"));
      await this.#stop();
    }
  }

  async #begin(signal: AbortSignal): Promise<void> {
    await this.#synced.promise;
    await this.#takeOver.run(signal);
    if (!signal.aborted) await this.#controller.start();
  }

  /** The work ends, then the lease is handed over; events may still be reported; caches and connections go last. */
  async #stop(): Promise<void> {
    await this.#lease.stop(() => this.#controller.stop(EFFECT_MS));
    await this.#events.stop();
    await this.#stores.stop();
    await Promise.all([...this.#workers.values()].map((worker) => worker.close()));
    await this.#http.close();
  }

  async #reconcile(key: string): Promise<Outcome> {
    try {
      return await this.#turn(key);
    } catch (error) {
      // A pass that ends because we do not lead any more is no failure of the cluster.
      if (!this.#fence.leads) {
        this.#options.log("info", textOf(error), { ...clusterFields(key), error });
        return { againMs: FENCED_MS };
      }
      throw error;
    }
  }

  async #turn(key: string): Promise<Outcome> {
    const cluster = this.#stores.cluster(key);
    const uid = cluster?.metadata.uid;
    let worker = this.#workers.get(key);
    if (worker && worker.uid !== uid) {
      this.#workers.delete(key);
      this.#options.hooks?.onForget?.(key);
      await worker.close();
      worker = undefined;
    }
    if (uid === undefined) this.#installation.forget(key);
    const claimed = cluster && uid !== undefined ? await this.#installation.claim(key, cluster) : undefined;
    if (claimed && "againMs" in claimed) return await this.#standAside(key, claimed);
    const again = [await this.#orphans.release(key, uid)];
    again.push(
      await this.#dependents.report(key, uid === undefined ? { is: "absent" } : { is: "present", uid }),
    );
    // Where there is a cluster, its own next turn tries again.
    if (!claimed || uid === undefined) return soonest(again);
    if (!worker) {
      worker = new ClusterWorker(key, uid, this.#worker);
      this.#workers.set(key, worker);
    }
    return await worker.turn(claimed);
  }

  /** Another installation looks after it: what we know of it would only grow old. */
  async #standAside(key: string, again: { readonly againMs: number }): Promise<Outcome> {
    const worker = this.#workers.get(key);
    this.#workers.delete(key);
    if (worker) {
      this.#options.hooks?.onForget?.(key);
      await worker.close();
    }
    return again;
  }
}

function soonest(turns: readonly ({ readonly againMs: number } | undefined)[]): Outcome {
  const waits = turns.flatMap((one) => one?.againMs ?? []);
  return waits.length === 0 ? undefined : { againMs: Math.min(...waits) };
}
