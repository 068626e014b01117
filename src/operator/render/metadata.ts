/**
 * Labels, owners and selectors of everything that is rendered. Selectors name the cluster's UID as well: a
 * cluster of the same name that came before, or its Pods that still end, are never meant (I9, H11).
 */
import type { LabelSelector, OwnerReference } from "kubernetes-types/meta/v1.d.ts";
import type { EtcdClusterSpec } from "../../api/etcd-cluster-spec.ts";
import { API_VERSION } from "../../api/metadata.ts";
import type { UserFacts } from "../../core/auth/facts.ts";
import type { ClusterFacts } from "../../core/observation.ts";
import type { MemberRecord } from "../../core/record.ts";
import { startHash } from "../../core/template/template.ts";
import { ANNOTATIONS, LABELS } from "../names.ts";
import { RESTORE_FLAG } from "./restore-flag.ts";

/** With what its spec gives to every object. */
export type Identity = Pick<ClusterFacts, "name" | "namespace" | "uid"> & {
  readonly spec?: Pick<EtcdClusterSpec, "metadata">;
};
/**
 * Who clients are sent to follows from this label, so that a fenced member has another one. Budgets and autoscalers
 * count fenced voters like all others.
 */
export type PodRole = "voter" | "learner" | "fenced-voter" | "fenced-learner";
const VOTER_ROLES: readonly PodRole[] = ["voter", "fenced-voter"];
type Labels = Readonly<Record<string, string>>;

/** Helper Pods of a cluster bear its labels too, but never this component: no selector below means them. */
const COMPONENT = "app.kubernetes.io/component";
const MEMBER = "member";

/** What the spec gives, first to all and then to `some` alone, and ours, which win. */
function labelsOf({ name, uid, spec }: Identity, component: string, some: Labels = {}): Labels {
  return {
    ...spec?.metadata?.labels,
    ...some,
    "app.kubernetes.io/name": "etcd",
    "app.kubernetes.io/instance": name,
    [COMPONENT]: component,
    "app.kubernetes.io/managed-by": "quorate",
    [LABELS.cluster]: name,
    [LABELS.clusterUID]: uid,
  };
}

/** Of objects that a cluster has once; `some` are given to this one. */
export function clusterLabels(cluster: Identity, some?: Labels): Labels {
  return labelsOf(cluster, "cluster", some);
}

/** Of the objects of one member that outlive its Pod: its claim, its Secret. */
export function memberObjectLabels(cluster: Identity, { name }: Pick<MemberRecord, "name">): Labels {
  return { ...labelsOf(cluster, MEMBER), [LABELS.member]: name };
}

/** Of a member's Pod. */
export function memberLabels(
  cluster: Identity,
  record: Pick<MemberRecord, "name" | "template" | "token">,
  role: PodRole,
): Labels {
  const { name, template, token } = record;
  return {
    ...labelsOf(cluster, MEMBER, template.pod.labels),
    [LABELS.member]: name,
    [LABELS.role]: role,
    ...lifeLabel(lifeIn(cluster, token)),
  };
}

/** Of a member's Pod. The hash stays what it was when the Pod was made; only a new Pod gets another one. */
export function memberAnnotations(cluster: Identity, record: MemberRecord): Labels {
  return {
    ...cluster.spec?.metadata?.annotations,
    ...record.template.pod.annotations,
    [ANNOTATIONS.startedFrom]: startHash(record),
    ...(record.joined && { [ANNOTATIONS.latched]: "true" }),
    ...(record.restore && {
      [ANNOTATIONS.restore]: record.joined ? RESTORE_FLAG.done : RESTORE_FLAG.pending,
    }),
  };
}

/** What the spec gives to an object that is applied: to all, and to this one. An empty map is not kept, and would look like a difference for ever. */
export function annotationsOf({ spec }: Identity, some: Labels = {}): { annotations?: Labels } {
  const annotations = { ...spec?.metadata?.annotations, ...some };
  return Object.keys(annotations).length === 0 ? {} : { annotations };
}

export function ownedByCluster({ name, uid }: Identity): OwnerReference {
  return owner("EtcdCluster", name, uid);
}

/** `controller: true` is what lets `kubectl drain` evict a Pod (H14). */
export function ownedByMember({ name, uid }: Pick<MemberRecord, "name" | "uid">): OwnerReference {
  return owner("EtcdMember", name, uid);
}

/** Without the right to its finalizers, which blocking its deletion takes where the API server restricts that. */
export function ownedByUser({ object: name, uid }: Pick<UserFacts, "object" | "uid">): OwnerReference {
  return { ...owner("EtcdUser", name, uid), blockOwnerDeletion: false };
}

function owner(kind: string, name: string, uid: string): OwnerReference {
  return { apiVersion: API_VERSION, kind, name, uid, controller: true, blockOwnerDeletion: true };
}

/** Not of the first life, so that the Pods of most clusters have no such label. */
function lifeLabel(life: number | undefined): Labels {
  return life === undefined || life === 1 ? {} : { [LABELS.life]: String(life) };
}

function lifeIn({ uid }: Identity, token: string): number | undefined {
  const life = token.startsWith(`${uid}-`) ? Number(token.slice(uid.length + 1)) : NaN;
  return Number.isSafeInteger(life) ? life : undefined;
}

/**
 * Which Pods: all members of the cluster, or those of a role, without fenced ones. `life`: those of this life alone, so
 * that a member from before a recovery or a restore, which may run again somewhere, gets no client.
 */
export function selectorOf(
  { name, uid }: Identity,
  which: "voter" | "learner" | "all",
  life?: number,
): Labels {
  return {
    [COMPONENT]: MEMBER,
    [LABELS.cluster]: name,
    [LABELS.clusterUID]: uid,
    ...(which !== "all" && { [LABELS.role]: which }),
    ...lifeLabel(life),
  };
}

/** All voters, fenced or not: a fenced one votes on, and must not be drained below quorum (H14). */
export function voterSelector(cluster: Identity, life?: number): LabelSelector {
  return {
    matchLabels: selectorOf(cluster, "all", life),
    matchExpressions: [{ key: LABELS.role, operator: "In", values: [...VOTER_ROLES] }],
  };
}

/** For status.selector of the scale subresource, which counts voters. */
export function scaleSelector(cluster: Identity): string {
  return `${selectorText(selectorOf(cluster, "all"))},${LABELS.role} in (${VOTER_ROLES.join(",")})`;
}

/** The same for one member. */
export function memberSelector(cluster: Identity, member: string): string {
  return selectorText({ ...selectorOf(cluster, "all"), [LABELS.member]: member });
}

function selectorText(labels: Labels): string {
  return Object.entries(labels)
    .map(([key, value]) => `${key}=${value}`)
    .join(",");
}
