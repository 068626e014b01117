/**
 * What the operator may do, and why: the source of the roles in config/install*.yaml. A test runs the operator
 * with nothing but these rights through a cluster's life, and fails on one that is missing as on one that was not
 * used.
 */
import { GROUP } from "../../api/metadata.ts";

export type KubeVerb = "get" | "list" | "watch" | "create" | "update" | "patch" | "delete";

export interface Permission {
  readonly group: string;
  /** The plural, with its subresource. */
  readonly resource: string;
  readonly verbs: readonly KubeVerb[];
  /** Those that only unusual paths take, so that no test of a usual life asks for them. */
  readonly rarely?: readonly KubeVerb[];
  readonly why: string;
}

const SEE: readonly KubeVerb[] = ["list", "watch"];
/** In the namespaces of the clusters. */
export const NAMESPACED: readonly Permission[] = [
  {
    group: GROUP,
    resource: "etcdclusters",
    verbs: [...SEE, "patch"],
    why: "the desired state; annotations and the finalizer",
  },
  { group: GROUP, resource: "etcdclusters/status", verbs: ["patch"], why: "the observed state" },
  {
    group: GROUP,
    resource: "etcdclusters/finalizers",
    verbs: [],
    rarely: ["update"],
    why: "owner references that block deletion, where the API server restricts them (OpenShift)",
  },
  {
    group: GROUP,
    resource: "etcdmembers",
    verbs: [...SEE, "create", "update", "patch", "delete"],
    why: "the records of members",
  },
  { group: GROUP, resource: "etcdmembers/status", verbs: ["patch"], why: "the observed state of a member" },
  {
    group: GROUP,
    resource: "etcdmembers/finalizers",
    verbs: [],
    rarely: ["update"],
    why: "owner references that block deletion, where the API server restricts them (OpenShift)",
  },
  {
    group: "",
    resource: "pods",
    verbs: [...SEE, "create", "patch", "delete"],
    why: "members' workloads",
  },
  { group: "", resource: "pods/resize", verbs: ["patch"], why: "in-place resize" },
  {
    group: "",
    resource: "persistentvolumeclaims",
    verbs: [...SEE, "create", "delete"],
    // To grow.
    rarely: ["patch"],
    why: "members' volumes",
  },
  {
    group: "",
    resource: "secrets",
    verbs: [...SEE, "create", "patch"],
    why: "certificates and members' configuration; the garbage collector deletes them",
  },
  {
    group: "",
    resource: "services",
    verbs: [...SEE, "get", "create", "patch", "delete"],
    why: "names and addresses",
  },
  {
    group: "policy",
    resource: "poddisruptionbudgets",
    verbs: [...SEE, "get", "create", "patch", "delete"],
    why: "keeping the quorum during drains",
  },
  {
    group: "events.k8s.io",
    resource: "events",
    verbs: ["create"],
    // The same again within minutes.
    rarely: ["patch"],
    why: "recording events",
  },
];

/** Cluster-wide; an operator without them goes on and knows less. */
export const CLUSTER_WIDE: readonly Permission[] = [
  { group: "", resource: "nodes", verbs: SEE, why: "whether a member's node is lost" },
  {
    group: "storage.k8s.io",
    resource: "storageclasses",
    verbs: SEE,
    why: "whether volumes can be expanded, and where they are bound",
  },
];

/** In the operator's own namespace. */
export const LEASE: readonly Permission[] = [
  {
    group: "coordination.k8s.io",
    resource: "leases",
    verbs: ["get", "create", "update"],
    why: "leader election",
  },
];

/** All that a permission grants. */
export function verbsOf({ verbs, rarely = [] }: Permission): KubeVerb[] {
  return [...verbs, ...rarely];
}
