/**
 * Labels, owners and selectors of everything that is rendered. Selectors name the cluster's UID as well: a
 * cluster of the same name that came before, or its Pods that still end, are never meant (I9, H11).
 */
import type { LabelSelector, OwnerReference } from "kubernetes-types/meta/v1.d.ts";
import { API_VERSION } from "../../api/metadata.ts";
import type { ClusterFacts } from "../../core/observation.ts";
import type { MemberRecord } from "../../core/record.ts";
import { startHash } from "../../core/template/template.ts";
import { ANNOTATIONS, LABELS } from "../names.ts";

export type Identity = Pick<ClusterFacts, "name" | "namespace" | "uid">;
/**
 * Who clients are sent to follows from this label, so that a fenced member has another one. Budgets and autoscalers
 * count fenced voters like all others.
 */
export type PodRole = "voter" | "learner" | "fenced-voter" | "fenced-learner";
const VOTER_ROLES: readonly PodRole[] = ["voter", "fenced-voter"];
type Labels = Record<string, string>;

/** Helper Pods of a cluster bear its labels too, but never this component: no selector below means them. */
const COMPONENT = "app.kubernetes.io/component";
const MEMBER = "member";

function ownLabels({ name, uid }: Identity, component: string): Labels {
  return {
    "app.kubernetes.io/name": "etcd",
    "app.kubernetes.io/instance": name,
    [COMPONENT]: component,
    "app.kubernetes.io/managed-by": "quorate",
    [LABELS.cluster]: name,
    [LABELS.clusterUID]: uid,
  };
}

/** Of objects that a cluster has once. */
export function clusterLabels(cluster: Identity): Labels {
  return ownLabels(cluster, "cluster");
}

/** Of the objects of one member that outlive its Pod: its claim, its Secret. */
export function memberObjectLabels(cluster: Identity, { name }: Pick<MemberRecord, "name">): Labels {
  return { ...ownLabels(cluster, MEMBER), [LABELS.member]: name };
}

/** Of a member's Pod: the user's, and ours, which win. */
export function memberLabels(
  cluster: Identity,
  record: Pick<MemberRecord, "name" | "template">,
  role: PodRole,
): Labels {
  return { ...record.template.pod.labels, ...memberObjectLabels(cluster, record), [LABELS.role]: role };
}

/** Of a member's Pod. The hash stays what it was when the Pod was made; only a new Pod gets another one. */
export function memberAnnotations(record: MemberRecord): Labels {
  return {
    ...record.template.pod.annotations,
    [ANNOTATIONS.startedFrom]: startHash(record),
    ...(record.joined && { [ANNOTATIONS.latched]: "true" }),
  };
}

export function ownedByCluster({ name, uid }: Identity): OwnerReference {
  return owner("EtcdCluster", name, uid);
}

/** `controller: true` is what lets `kubectl drain` evict a Pod (H14). */
export function ownedByMember({ name, uid }: Pick<MemberRecord, "name" | "uid">): OwnerReference {
  return owner("EtcdMember", name, uid);
}

function owner(kind: string, name: string, uid: string): OwnerReference {
  return { apiVersion: API_VERSION, kind, name, uid, controller: true, blockOwnerDeletion: true };
}

/** Which Pods: all members of the cluster, or those of a role, without fenced ones. */
export function selectorOf({ name, uid }: Identity, which: "voter" | "learner" | "all"): Labels {
  return {
    [COMPONENT]: MEMBER,
    [LABELS.cluster]: name,
    [LABELS.clusterUID]: uid,
    ...(which !== "all" && { [LABELS.role]: which }),
  };
}

/** All voters, fenced or not: a fenced one votes on, and must not be drained below quorum (H14). */
export function voterSelector(cluster: Identity): LabelSelector {
  return {
    matchLabels: selectorOf(cluster, "all"),
    matchExpressions: [{ key: LABELS.role, operator: "In", values: [...VOTER_ROLES] }],
  };
}

/** For status.selector of the scale subresource, which counts voters. */
export function scaleSelector(cluster: Identity): string {
  const labels = Object.entries(selectorOf(cluster, "all")).map(([key, value]) => `${key}=${value}`);
  return [...labels, `${LABELS.role} in (${VOTER_ROLES.join(",")})`].join(",");
}
