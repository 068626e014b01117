/**
 * What the operator knows of the API server: one cache for each kind in the table of kinds, in all namespaces or in
 * those that were named.
 */
import type { Node, PersistentVolumeClaim, Pod, Secret, Service } from "kubernetes-types/core/v1.d.ts";
import type { NetworkPolicy } from "kubernetes-types/networking/v1.d.ts";
import type { PodDisruptionBudget } from "kubernetes-types/policy/v1.d.ts";
import type { EtcdCluster } from "../../api/etcd-cluster.ts";
import type { EtcdMember } from "../../api/etcd-member.ts";
import type { EtcdOperation } from "../../api/etcd-operation.ts";
import type { EtcdRole } from "../../api/etcd-role.ts";
import type { EtcdUser } from "../../api/etcd-user.ts";
import type { EtcdSnapshotSchedule } from "../../api/etcd-snapshot-schedule.ts";
import type { EtcdSnapshot } from "../../api/etcd-snapshot.ts";
import type { KubeClient } from "../../kube/client.ts";
import { isReason } from "../../kube/errors.ts";
import type { Log } from "../../kube/log.ts";
import { refOf, type KubeObject } from "../../kube/resources.ts";
import type { Store } from "../../kube/store.ts";
import type { Clock } from "../../seams/clock.ts";
import type { Random } from "../../seams/random.ts";
import { NAMESPACED_KINDS, WIDE_KINDS, type Kind } from "../kinds.ts";
import type { Certificate } from "../cert-manager.ts";
import { ANNOTATIONS } from "../names.ts";
import type { ClusterObjects } from "../observe/observe-objects.ts";
import { isFollower } from "../observe/follower-facts.ts";
import type { SnapshotObjects } from "../observe/snapshot-facts.ts";
import { jobs } from "../resources.ts";
import { cachesIn, cachesOf, type Cache, type Space, type Wide } from "./kind-caches.ts";
import { OptionalCaches } from "./optional-caches.ts";
import type { CatchingCache } from "./take-over.ts";

export interface StoresOptions {
  readonly client: KubeClient;
  readonly clock: Clock;
  readonly random: Random;
  /** All when absent. */
  readonly namespaces?: readonly string[];
  /** Of all namespaces, those that another installation manages. */
  readonly excludedNamespaces?: readonly string[];
  readonly log: Log;
}

/** Everything of one cluster, by its cache. */
export interface OwnObjects {
  readonly secrets: readonly Secret[];
  /** Of cert-manager. */
  readonly certificates: readonly Certificate[];
  readonly services: readonly Service[];
  readonly budgets: readonly PodDisruptionBudget[];
  readonly networkPolicies: readonly NetworkPolicy[];
}

/** Not a member's, whatever it is called. */
function isOfAJob({ metadata }: Pod): boolean {
  return metadata?.ownerReferences?.some(({ kind, controller }) => controller && kind === jobs.kind) ?? false;
}

/** What a cache looks like from outside. */
export interface CacheFacts {
  readonly resource: string;
  readonly synced: boolean;
  readonly trouble?: string;
  /** By a fault of ours; it does not come back. */
  readonly ended: boolean;
  /** The operator works without it. */
  readonly optional?: boolean;
}

export class Stores {
  readonly #spaces: ReadonlyMap<string, Space>;
  readonly #wide: Wide;
  readonly #optional: OptionalCaches;
  #life: AbortSignal | undefined;

  constructor(options: StoresOptions) {
    const { namespaces, excludedNamespaces, client, clock, random, log } = options;
    const shared = { client, clock, random, log };
    this.#optional = new OptionalCaches(shared);
    const all = excludedNamespaces ? { notNamespaces: excludedNamespaces } : {};
    this.#spaces = new Map(
      (namespaces ?? [ALL]).map((name) => [
        name,
        cachesOf<Space>(NAMESPACED_KINDS, shared, name === ALL ? all : { namespace: name }),
      ]),
    );
    this.#wide = cachesOf<Wide>(WIDE_KINDS, shared);
  }

  /** Starts to fill the caches; resolves when all that can be filled have been. */
  async start(signal: AbortSignal): Promise<void> {
    const all = this.#every();
    const needed = all.filter(({ kind }) => kind.ifRefused === undefined);
    for (const { reflector } of needed) reflector.start();
    const optional = all.filter(
      ({ kind: { ifRefused } }) => ifRefused !== undefined && ifRefused !== "OnDemand",
    );
    for (const cache of all) if (cache.kind.ifRefused === "OnDemand") this.#optional.onDemand(cache);
    this.#life = signal;
    await Promise.all([
      ...needed.map(({ reflector }) => reflector.store.whenSynced(signal)),
      ...optional.map((cache) => this.#optional.start(cache, signal)),
    ]);
  }

  /** A cluster needs cert-manager's Certificates; true once they are followed. */
  async followCertificates(key: string): Promise<boolean> {
    const cache = this.#certificatesOf(key);
    return cache !== undefined && (await this.#optional.demand(cache, this.#life));
  }

  followsCertificates(key: string): boolean {
    const cache = this.#certificatesOf(key);
    return cache !== undefined && this.#optional.isFilled(cache);
  }

  #certificatesOf(key: string): Cache | undefined {
    const space = this.#space(key);
    if (!space) return undefined;
    const { certificates: reflector } = space;
    return cachesIn(NAMESPACED_KINDS, space).find((one) => one.reflector === (reflector as object));
  }

  /** Every cache that is filled, to be waited for by who begins to act. */
  catching(): CatchingCache[] {
    return this.#filled().map(({ kind: { resource, ifRefused }, reflector }) => ({
      resource: resource.plural,
      catchUp: async (signal) => {
        const reached = reflector.catchUp(signal);
        await (ifRefused === undefined ? reached : reached.catch(unlessRefused));
      },
    }));
  }

  async stop(): Promise<void> {
    await Promise.all(this.#filled().map(({ reflector }) => reflector.stop()));
  }

  facts(): CacheFacts[] {
    return this.#filled().map(({ kind, reflector: { store, trouble, ended } }) => ({
      resource: kind.resource.plural,
      synced: store.synced,
      ended,
      ...(kind.ifRefused !== undefined && kind.ifRefused !== "DoWithout" && { optional: true }),
      ...(trouble && { trouble: trouble.message }),
    }));
  }

  /** The objects of every kind that belongs to clusters, with the kind. */
  sources(): { readonly kind: Kind; readonly store: Store<KubeObject, "cluster"> }[] {
    return [...this.#spaces.values()].flatMap((space) =>
      cachesIn(NAMESPACED_KINDS, space).map(({ kind, reflector: { store } }) => ({ kind, store })),
    );
  }

  get nodes(): Store<Node, "cluster"> {
    return this.#wide.nodes.store;
  }

  podsOn(node: string): Pod[] {
    return [...this.#spaces.values()].flatMap((space) => space.pods.store.by("node", node));
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

  operation(key: string): EtcdOperation | undefined {
    return this.#space(key)?.operations.store.get(key);
  }

  /** The operations that name this cluster, whether it exists or not. */
  operationsOf(cluster: string): EtcdOperation[] {
    return this.#space(cluster)?.operations.store.by("cluster", cluster) ?? [];
  }

  snapshot(key: string): EtcdSnapshot | undefined {
    return this.#space(key)?.snapshots.store.get(key);
  }

  schedule(key: string): EtcdSnapshotSchedule | undefined {
    return this.#space(key)?.schedules.store.get(key);
  }

  /** The snapshots and schedules that name this cluster, whether it exists or not, and what works for them. */
  snapshotsOf(cluster: string): SnapshotObjects {
    const space = this.#space(cluster);
    const snapshots = space?.snapshots.store.by("cluster", cluster) ?? [];
    const schedules = space?.schedules.store.by("cluster", cluster) ?? [];
    if (!space || snapshots.length + schedules.length === 0)
      return { snapshots, schedules, jobs: [], pods: [] };
    return {
      snapshots,
      schedules,
      jobs: space.jobs.store.by("cluster", cluster),
      pods: space.pods.store.by("cluster", cluster).filter((pod) => isOfAJob(pod) || isFollower(pod)),
    };
  }

  user(key: string): EtcdUser | undefined {
    return this.#space(key)?.users.store.get(key);
  }

  role(key: string): EtcdRole | undefined {
    return this.#space(key)?.roles.store.get(key);
  }

  usersOf(cluster: string): EtcdUser[] {
    return this.#space(cluster)?.users.store.by("cluster", cluster) ?? [];
  }

  rolesOf(cluster: string): EtcdRole[] {
    return this.#space(cluster)?.roles.store.by("cluster", cluster) ?? [];
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
    const { nodes, storageClasses } = this.#wide;
    const members = space.members.store.by("cluster", key);
    const own = space.pods.store.by("cluster", key).filter((pod) => !isOfAJob(pod) && !isFollower(pod));
    return {
      cluster,
      members,
      pods: own,
      claims: space.claims.store.by("cluster", key),
      operations: space.operations.store.by("cluster", key),
      ...(nodes.store.synced && { nodes: this.#nodesOf(own, members) }),
      ...(storageClasses.store.synced && { storageClasses: storageClasses.store.list() }),
    };
  }

  /** Every object that belongs to this cluster, of all kinds. */
  belongings(key: string): KubeObject[] {
    const space = this.#space(key);
    if (!space) return [];
    return cachesIn(NAMESPACED_KINDS, space).flatMap(({ reflector }) => reflector.store.by("cluster", key));
  }

  ownObjects(key: string): OwnObjects {
    const space = this.#space(key);
    return {
      secrets: space?.secrets.store.by("cluster", key) ?? [],
      certificates: space?.certificates.store.by("cluster", key) ?? [],
      services: space?.services.store.by("cluster", key) ?? [],
      budgets: space?.budgets.store.by("cluster", key) ?? [],
      networkPolicies: space?.networkPolicies.store.by("cluster", key) ?? [],
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
    return [...names].flatMap((name) => this.#wide.nodes.store.get(name) ?? []);
  }

  #space(key: string): Space | undefined {
    return this.#spaces.get(ALL) ?? this.#spaces.get(refOf(key).namespace ?? "");
  }

  #every(): Cache[] {
    return [
      ...[...this.#spaces.values()].flatMap((space) => cachesIn(NAMESPACED_KINDS, space)),
      ...cachesIn(WIDE_KINDS, this.#wide),
    ];
  }

  #filled(): Cache[] {
    return this.#every().filter(({ reflector }) => !this.#optional.isRefused(reflector));
  }
}

/** Nothing can be missed of a kind that is not served, or not to us, any more. */
function unlessRefused(error: unknown): void {
  if (!isReason(error, "Forbidden", "NotFound")) throw error;
}

/** No namespace has this name. */
const ALL = "*";
