/**
 * Every kind of object that the operator follows, one entry each: which objects of it, what is kept of them, which
 * cluster they belong to, what about them wakes that cluster, what happens where the API server does not give them,
 * and the rights that this takes. Caches, wake-ups, the catch-up of a new leader, roles, health and metrics are made
 * from this table.
 */
import type { EtcdMember } from "../api/etcd-member.ts";
import { keyOf, pods, services, type KubeObject, type Resource } from "../kube/resources.ts";
import type { Index } from "../kube/store.ts";
import { slimClass, slimJob, slimNode, slimOperation, slimPod, slimSecret } from "./cache/slim.ts";
import { certificates } from "./cert-manager.ts";
import { LABELS } from "./names.ts";
import type { KubeVerb } from "./process/kube-verb.ts";
import {
  budgets,
  claims,
  etcdClusters,
  etcdMembers,
  etcdOperations,
  etcdRoles,
  etcdUsers,
  etcdSnapshots,
  etcdSnapshotSchedules,
  jobs,
  networkPolicies,
  nodes,
  secrets,
  storageClasses,
} from "./resources.ts";

/** What the operator does with a kind beside following it. */
export interface Right {
  /** Empty for the object itself. */
  readonly subresource?: string;
  readonly verbs?: readonly KubeVerb[];
  /** Those that only unusual paths take, so that no test of a usual life asks for them. */
  readonly rarely?: readonly KubeVerb[];
  readonly why: string;
}

/** `destroy` is our own: what can cost data asks for it, so that the right to edit is not enough. */
export type UserVerb = KubeVerb | "deletecollection";

/** What people may do with a kind of ours beside viewing it, by their role in its namespace. */
export interface Users {
  readonly edit: readonly UserVerb[];
  /** More than those who edit. */
  readonly admin?: readonly UserVerb[];
}

export interface Kind<T extends KubeObject = KubeObject, I extends string = never> {
  readonly resource: Resource<T>;
  /** Only objects with the label of a cluster are followed: ours, among many of everybody else's. */
  readonly labelled?: true;
  /** What is kept of an object; all but managedFields when absent. */
  readonly keep?: (object: T) => T;
  /** The keys of the clusters that an object belongs to; none for what is cluster-wide. */
  readonly clusters?: (object: T) => string[];
  /** Further ways to find objects. The cluster that they belong to is always one. */
  readonly indexes?: Readonly<Record<I, Index<T>>>;
  /**
   * What wakes the cluster: any change, or only one of spec and metadata. A status that we write ourselves must wake
   * nobody, or a cluster at rest would never rest (I7).
   */
  readonly wakes?: "Change" | "Intent";
  /**
   * Where the API server refuses it or does not serve it. A kind without this is waited for, and nothing is done before.
   * DoWithout: asked once; what it would tell stays unknown. Retry: asked again in the background, and followed from
   * when it is given, such as a kind whose definition comes with a later step of an upgrade. OnDemand: the same, once a
   * cluster needs it.
   */
  readonly ifRefused?: "DoWithout" | "Retry" | "OnDemand";
  readonly rights: readonly Right[];
  /** Only kinds of ours. */
  readonly users?: Users;
}

/** The key of the cluster that an object is labelled with. */
export function clusterKeys({ metadata }: KubeObject): string[] {
  const cluster = metadata?.labels?.[LABELS.cluster];
  return cluster === undefined ? [] : [`${metadata?.namespace}/${cluster}`];
}

/** Of a record: also by its owner and its spec, should somebody have taken its label away. */
export function memberKeys(member: EtcdMember): string[] {
  const { namespace, ownerReferences = [] } = member.metadata;
  const owners = ownerReferences.filter(({ kind: owner }) => owner === etcdClusters.kind);
  const named = [...owners.map(({ name }) => name), member.spec.cluster];
  return [...new Set([...clusterKeys(member), ...named.map((cluster) => `${namespace}/${cluster}`)])];
}

interface NamesCluster {
  readonly metadata: { readonly namespace?: string | undefined };
  readonly spec: { readonly cluster: string };
}

/** Of an object of ours that names its cluster in its spec, whether that exists or not. */
export function namedCluster({ metadata, spec }: NamesCluster): string[] {
  return [`${metadata.namespace}/${spec.cluster}`];
}

/** Keeps the types of an entry. */
function kind<T extends KubeObject, I extends string = never>(entry: Kind<T, I>): Kind<T, I> {
  return entry;
}

/** Objects of a cluster that have its label. */
const OF_A_CLUSTER = { labelled: true, clusters: clusterKeys, wakes: "Change" } as const;

const WRITE: readonly UserVerb[] = ["create", "update", "patch", "delete", "deletecollection"];

const FINALIZERS: Right = {
  subresource: "finalizers",
  rarely: ["update"],
  why: "owner references that block deletion, where the API server restricts them (OpenShift)",
};

/** In the namespaces of the clusters. They are filled in this order. */
export const NAMESPACED_KINDS = {
  clusters: kind({
    resource: etcdClusters,
    clusters: (object) => [keyOf(object)],
    wakes: "Intent",
    rights: [
      { verbs: ["patch"], why: "the desired state; annotations and the finalizer" },
      { subresource: "status", verbs: ["patch"], why: "the observed state" },
      FINALIZERS,
    ],
    users: { edit: WRITE },
  }),
  members: kind({
    resource: etcdMembers,
    clusters: memberKeys,
    wakes: "Intent",
    rights: [
      {
        verbs: ["create", "update", "patch", "delete"],
        // Asked for by the admission policy, where there is one.
        rarely: ["record"],
        why: "the records of members",
      },
      { subresource: "status", verbs: ["patch"], why: "the observed state of a member" },
      FINALIZERS,
    ],
    // Neither spec nor owner, by the admission policy. Deleting one replaces its member.
    users: { edit: ["update", "patch"], admin: ["delete"] },
  }),
  operations: kind({
    resource: etcdOperations,
    clusters: namedCluster,
    keep: slimOperation,
    wakes: "Intent",
    // Their definition may come later than this operator, or its role.
    ifRefused: "Retry",
    rights: [
      {
        verbs: ["patch", "delete"],
        // Only for clusters with recovery.quorumLoss Automatic, by the admission policy like a person.
        rarely: ["create", "destroy"],
        why: "the owner of an operation; its end after its time to live; automatic recovery",
      },
      { subresource: "status", verbs: ["patch"], why: "the steps and the outcome of an operation" },
    ],
    // What can cost data asks for destroy, by the admission policy.
    users: { edit: WRITE, admin: ["destroy"] },
  }),
  snapshots: kind({
    resource: etcdSnapshots,
    clusters: namedCluster,
    wakes: "Intent",
    // Their definition may come later than this operator, or its role.
    ifRefused: "Retry",
    rights: [
      {
        // Those of schedules, which a test of a usual life does not wait for.
        rarely: ["create", "patch", "delete"],
        why: "the snapshots of schedules, and the finalizer of one whose object is deleted with it",
      },
      { subresource: "status", verbs: ["patch"], why: "the phase and the result of a snapshot" },
    ],
    users: { edit: WRITE },
  }),
  schedules: kind({
    resource: etcdSnapshotSchedules,
    clusters: namedCluster,
    wakes: "Intent",
    ifRefused: "Retry",
    rights: [
      { why: "when snapshots are due, and which are kept" },
      { subresource: "status", verbs: ["patch"], why: "the last and the next snapshot of a schedule" },
    ],
    users: { edit: WRITE },
  }),
  jobs: kind({
    resource: jobs,
    ...OF_A_CLUSTER,
    keep: slimJob,
    ifRefused: "Retry",
    rights: [{ verbs: ["create"], rarely: ["delete"], why: "the Jobs that take and delete snapshots" }],
  }),
  users: kind({
    resource: etcdUsers,
    clusters: namedCluster,
    wakes: "Intent",
    ifRefused: "Retry",
    rights: [
      { verbs: ["patch"], why: "the finalizer of a user that is in etcd" },
      { subresource: "status", verbs: ["patch"], why: "whether etcd has the user" },
    ],
    users: { edit: WRITE },
  }),
  roles: kind({
    resource: etcdRoles,
    clusters: namedCluster,
    wakes: "Intent",
    ifRefused: "Retry",
    rights: [
      { verbs: ["patch"], why: "the finalizer of a role that is in etcd" },
      { subresource: "status", verbs: ["patch"], why: "whether etcd has the role" },
    ],
    users: { edit: WRITE },
  }),
  pods: kind({
    resource: pods,
    ...OF_A_CLUSTER,
    keep: slimPod,
    indexes: { node: ({ spec }) => (spec?.nodeName ? [spec.nodeName] : []) },
    rights: [
      { verbs: ["create", "patch", "delete"], why: "members' workloads" },
      { subresource: "resize", verbs: ["patch"], why: "in-place resize" },
    ],
  }),
  claims: kind({
    resource: claims,
    ...OF_A_CLUSTER,
    rights: [{ verbs: ["create", "patch", "delete"], why: "members' volumes" }],
  }),
  secrets: kind({
    resource: secrets,
    keep: slimSecret,
    ...OF_A_CLUSTER,
    rights: [
      {
        verbs: ["create", "patch"],
        why: "certificates and members' configuration; the garbage collector deletes them",
      },
    ],
  }),
  certificates: kind({
    resource: certificates,
    ...OF_A_CLUSTER,
    // Whether cert-manager is there, and when it comes, matters only to clusters that ask for it.
    ifRefused: "OnDemand",
    rights: [
      {
        rarely: ["get", "create", "patch", "delete"],
        why: "certificates from cert-manager, for clusters that ask for them",
      },
      {
        subresource: "status",
        rarely: ["patch"],
        why: "asking cert-manager to reissue certificates of a CA that their issuer no longer has",
      },
    ],
  }),
  services: kind({
    resource: services,
    ...OF_A_CLUSTER,
    rights: [{ verbs: ["get", "create", "patch", "delete"], why: "names and addresses" }],
  }),
  budgets: kind({
    resource: budgets,
    ...OF_A_CLUSTER,
    wakes: "Intent",
    rights: [{ verbs: ["get", "create", "patch", "delete"], why: "keeping the quorum during drains" }],
  }),
  networkPolicies: kind({
    resource: networkPolicies,
    ...OF_A_CLUSTER,
    // The role of an earlier release lacks them, and may be applied later than this operator.
    ifRefused: "Retry",
    rights: [{ verbs: ["get", "create", "patch", "delete"], why: "who may connect to members" }],
  }),
} as const;

/**
 * Cluster-wide; an operator without them goes on and knows less: a role for one namespace cannot name them. Then a lost
 * node is not told from a slow one.
 */
export const WIDE_KINDS = {
  nodes: kind({
    resource: nodes,
    keep: slimNode,
    ifRefused: "DoWithout",
    rights: [{ why: "whether a member's node is lost" }],
  }),
  storageClasses: kind({
    resource: storageClasses,
    keep: slimClass,
    ifRefused: "DoWithout",
    rights: [{ why: "whether volumes can be expanded, and where they are bound" }],
  }),
} as const;

export type NamespacedKinds = typeof NAMESPACED_KINDS;
export type WideKinds = typeof WIDE_KINDS;

/** The entries of either table, without the types of their objects. */
export function entriesOf(table: NamespacedKinds | WideKinds): [name: string, kind: Kind][] {
  return Object.entries(table) as unknown as [string, Kind][];
}
