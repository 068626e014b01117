/**
 * What the operator knows of the API server: one cache for each kind of object, in all namespaces or in those
 * that were named. Secrets, Services and the like come in only with our label; Nodes and StorageClasses are
 * cluster-wide, and an operator that may not read them does without.
 */
import type { Node, PersistentVolumeClaim, Pod, Secret, Service } from "kubernetes-types/core/v1.d.ts";
import type { PodDisruptionBudget } from "kubernetes-types/policy/v1.d.ts";
import type { EtcdCluster } from "../../api/etcd-cluster.ts";
import type { EtcdMember } from "../../api/etcd-member.ts";
import type { KubeClient } from "../../kube/client.ts";
import { isReason, KubeError } from "../../kube/errors.ts";
import type { Log } from "../../kube/log.ts";
import { Reflector, type ReflectorOptions } from "../../kube/reflector.ts";
import { pods, refOf, services, type KubeObject } from "../../kube/resources.ts";
import type { Store } from "../../kube/store.ts";
import { backoffMs, type Backoff } from "../../seams/backoff.ts";
import { sleep, type Clock } from "../../seams/clock.ts";
import type { Random } from "../../seams/random.ts";
import { ANNOTATIONS, LABELS } from "../names.ts";
import type { ClusterObjects } from "../observe/observe-objects.ts";
import { budgets, claims, etcdClusters, etcdMembers, nodes, secrets, storageClasses } from "../resources.ts";
import { slimClass, slimNode, slimPod } from "./slim.ts";
import type { CatchingCache } from "./take-over.ts";

export interface StoresOptions {
  readonly client: KubeClient;
  readonly clock: Clock;
  readonly random: Random;
  /** All when absent. */
  readonly namespaces?: readonly string[];
  readonly log: Log;
}

type Shared = Pick<ReflectorOptions<KubeObject, never>, "client" | "clock" | "random" | "log">;

/** Everything of one cluster, by its cache. */
export interface OwnObjects {
  readonly secrets: readonly Secret[];
  readonly services: readonly Service[];
  readonly budgets: readonly PodDisruptionBudget[];
}

/** What a cache looks like from outside. */
export interface CacheFacts {
  readonly resource: string;
  readonly synced: boolean;
  readonly trouble?: string;
  /** By a fault of ours; it does not come back. */
  readonly ended: boolean;
}

/** The key of the cluster that an object is labelled with. */
export function clusterKeys({ metadata }: KubeObject): string[] {
  const cluster = metadata?.labels?.[LABELS.cluster];
  return cluster === undefined ? [] : [`${metadata?.namespace}/${cluster}`];
}

/** Of a record: also by its owner and its spec, should somebody have taken its label away. */
export function memberKeys(member: EtcdMember): string[] {
  const { namespace, ownerReferences = [] } = member.metadata;
  const owners = ownerReferences.filter(({ kind }) => kind === etcdClusters.kind).map(({ name }) => name);
  const named = [...owners, member.spec.cluster].map((cluster) => `${namespace}/${cluster}`);
  return [...new Set([...clusterKeys(member), ...named])];
}

/** The caches of one namespace, or of all. */
class Space {
  readonly clusters: Reflector<EtcdCluster>;
  readonly members: Reflector<EtcdMember, "cluster">;
  readonly pods: Reflector<Pod, "cluster" | "node">;
  readonly claims: Reflector<PersistentVolumeClaim, "cluster">;
  readonly secrets: Reflector<Secret, "cluster">;
  readonly services: Reflector<Service, "cluster">;
  readonly budgets: Reflector<PodDisruptionBudget, "cluster">;

  constructor(shared: Shared, namespace: string | undefined) {
    const place = namespace === undefined ? {} : { namespace };
    const scope = { ...place, labels: { [LABELS.cluster]: true as const } };
    const indexes = { cluster: clusterKeys };
    this.clusters = new Reflector({ ...shared, resource: etcdClusters, scope: place });
    this.members = new Reflector({
      ...shared,
      resource: etcdMembers,
      scope: place,
      indexes: { cluster: memberKeys },
    });
    this.pods = new Reflector<Pod, "cluster" | "node">({
      ...shared,
      resource: pods,
      scope,
      indexes: { cluster: clusterKeys, node: ({ spec }) => (spec?.nodeName ? [spec.nodeName] : []) },
      keep: slimPod,
    });
    this.claims = new Reflector({ ...shared, resource: claims, scope, indexes });
    this.secrets = new Reflector({ ...shared, resource: secrets, scope, indexes });
    this.services = new Reflector({ ...shared, resource: services, scope, indexes });
    this.budgets = new Reflector({ ...shared, resource: budgets, scope, indexes });
  }

  all(): Cache[] {
    const {
      clusters,
      members,
      pods: ours,
      claims: volumes,
      secrets: keys,
      services: names,
      budgets: pdbs,
    } = this;
    return [
      ["etcdclusters", clusters],
      ["etcdmembers", members],
      ["pods", ours],
      ["persistentvolumeclaims", volumes],
      ["secrets", keys],
      ["services", names],
      ["poddisruptionbudgets", pdbs],
    ];
  }
}

type Cache = readonly [
  resource: string,
  Pick<Reflector<KubeObject>, "start" | "stop" | "trouble" | "ended" | "catchUp"> & {
    readonly store: Pick<Store<KubeObject>, "synced" | "whenSynced">;
  },
];

export class Stores {
  readonly #options: StoresOptions;
  readonly #spaces: ReadonlyMap<string, Space>;
  readonly #nodes;
  readonly #classes;
  /** Caches that this operator may not fill. */
  readonly #forbidden = new Set<object>();

  constructor(options: StoresOptions) {
    const { namespaces, client, clock, random, log } = options;
    const shared = { client, clock, random, log };
    this.#options = options;
    this.#spaces = new Map(
      (namespaces ?? [ALL]).map((name) => [name, new Space(shared, name === ALL ? undefined : name)]),
    );
    this.#nodes = new Reflector({ ...shared, resource: nodes, keep: slimNode });
    this.#classes = new Reflector({ ...shared, resource: storageClasses, keep: slimClass });
  }

  /** Starts to fill the caches; resolves when all that can be filled have been. */
  async start(signal: AbortSignal): Promise<void> {
    const needed = [...this.#spaces.values()].flatMap((space) => space.all());
    for (const [, reflector] of needed) reflector.start();
    const optional = [
      this.#startIfAllowed(nodes, this.#nodes, signal),
      this.#startIfAllowed(storageClasses, this.#classes, signal),
    ];
    await Promise.all([...needed.map(([, { store }]) => store.whenSynced(signal)), ...optional]);
  }

  /** Every cache that is filled, to be waited for by who begins to act. */
  catching(): CatchingCache[] {
    return this.#all().map(([resource, reflector]) => ({
      resource,
      catchUp: (signal) => reflector.catchUp(signal),
    }));
  }

  async stop(): Promise<void> {
    await Promise.all(this.#all().map(([, reflector]) => reflector.stop()));
  }

  facts(): CacheFacts[] {
    return this.#all().map(([resource, { store, trouble, ended }]) => ({
      resource,
      synced: store.synced,
      ended,
      ...(trouble && { trouble: trouble.message }),
    }));
  }

  get spaces(): Iterable<Space> {
    return this.#spaces.values();
  }

  get nodes(): Store<Node> {
    return this.#nodes.store;
  }

  /** How many there are. */
  get clusters(): number {
    return [...this.#spaces.values()].reduce((sum, space) => sum + space.clusters.store.size, 0);
  }

  cluster(key: string): EtcdCluster | undefined {
    return this.#space(key)?.clusters.store.get(key);
  }

  member(key: string): EtcdMember | undefined {
    return this.#space(key)?.members.store.get(key);
  }

  /** The records that name this cluster, whether it exists or not. */
  membersOf(cluster: string): EtcdMember[] {
    return this.#space(cluster)?.members.store.by("cluster", cluster) ?? [];
  }

  pod(key: string): Pod | undefined {
    return this.#space(key)?.pods.store.get(key);
  }

  claim(key: string): PersistentVolumeClaim | undefined {
    return this.#space(key)?.claims.store.get(key);
  }

  /** For `observeObjects`; undefined when there is no such cluster. */
  objectsOf(key: string): ClusterObjects | undefined {
    const space = this.#space(key);
    const cluster = space?.clusters.store.get(key);
    if (space === undefined || cluster === undefined) return undefined;
    const members = space.members.store.by("cluster", key);
    const own = space.pods.store.by("cluster", key);
    return {
      cluster,
      members,
      pods: own,
      claims: space.claims.store.by("cluster", key),
      ...(this.#nodes.store.synced && { nodes: this.#nodesOf(own, members) }),
      ...(this.#classes.store.synced && { storageClasses: this.#classes.store.list() }),
    };
  }

  ownObjects(key: string): OwnObjects {
    const space = this.#space(key);
    return {
      secrets: space?.secrets.store.by("cluster", key) ?? [],
      services: space?.services.store.by("cluster", key) ?? [],
      budgets: space?.budgets.store.by("cluster", key) ?? [],
    };
  }

  /**
   * Only those that its Pods are on or that have a member's directory, with or without a Pod: there may be
   * thousands, and every pass goes through them.
   */
  #nodesOf(own: readonly Pod[], members: readonly EtcdMember[]): Node[] {
    const names = new Set([
      ...own.flatMap(({ spec }) => spec?.nodeName ?? []),
      ...members.flatMap(({ metadata }) => metadata.annotations?.[ANNOTATIONS.node] ?? []),
    ]);
    return [...names].flatMap((name) => this.#nodes.store.get(name) ?? []);
  }

  #space(key: string): Space | undefined {
    return this.#spaces.get(ALL) ?? this.#spaces.get(refOf(key).namespace ?? "");
  }

  #all(): Cache[] {
    const wide: Cache[] = [
      ["nodes", this.#nodes],
      ["storageclasses", this.#classes],
    ];
    const allowed = wide.filter(([, reflector]) => !this.#forbidden.has(reflector));
    return [...[...this.#spaces.values()].flatMap((space) => space.all()), ...allowed];
  }

  /** A role for one namespace cannot name what is cluster-wide: then a lost node is not told from a slow one. */
  async #startIfAllowed(
    resource: typeof nodes | typeof storageClasses,
    reflector: Cache[1],
    signal: AbortSignal,
  ): Promise<void> {
    const { log } = this.#options;
    const refusal = await this.#refusal(resource, signal);
    if (refusal) {
      this.#forbidden.add(reflector);
      log("info", `cannot read ${resource.plural}: ${refusal.message}`);
      return;
    }
    reflector.start();
    await reflector.store.whenSynced(signal);
  }

  /** Asked until it is answered: a cache that may not be filled would be waited for without end. */
  async #refusal(
    resource: typeof nodes | typeof storageClasses,
    signal: AbortSignal,
  ): Promise<KubeError | undefined> {
    const { client, clock, random } = this.#options;
    for (let failures = 1; ; failures++) {
      try {
        for await (const _ of client.pages<KubeObject>(resource, {}, { pageSize: 1, signal })) break;
        return undefined;
      } catch (error) {
        if (isReason(error, "Forbidden")) return error;
        if (signal.aborted || !(error instanceof KubeError)) throw error;
        await sleep(clock, backoffMs(failures, ASK_AGAIN, random), signal);
      }
    }
  }
}

const ASK_AGAIN: Backoff = { firstMs: 200, longestMs: 5_000 };

/** No namespace has this name. */
const ALL = "*";
