/**
 * What the operator may do, and why: the source of the roles in config/install*.yaml, from the table of kinds. A test
 * runs the operator with nothing but these rights through a cluster's life, and fails on one that is missing as on one
 * that was not used.
 */
import { entriesOf, NAMESPACED_KINDS, WIDE_KINDS } from "../kinds.ts";
import type { KubeVerb } from "./kube-verb.ts";

export interface Permission {
  readonly group: string;
  /** The plural, with its subresource. */
  readonly resource: string;
  readonly verbs: readonly KubeVerb[];
  /** Those that only unusual paths take, so that no test of a usual life asks for them. */
  readonly rarely?: readonly KubeVerb[];
  readonly why: string;
}

/** What it takes to follow a kind. */
const SEE: readonly KubeVerb[] = ["list", "watch"];

/** In the namespaces of the clusters. */
export const NAMESPACED: readonly Permission[] = [
  ...ofKinds(NAMESPACED_KINDS),
  {
    group: "",
    resource: "serviceaccounts",
    verbs: ["create"],
    why: "the service account, without any rights, of the Pods that take snapshots",
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
  ...ofKinds(WIDE_KINDS),
  {
    group: "",
    resource: "persistentvolumes",
    verbs: ["get", "patch"],
    // Only for clusters with storage.adopt.
    rarely: ["list"],
    why: "writing on a volume what it holds, and giving one that outlived its claim back to its cluster",
  },
  {
    group: "coordination.k8s.io",
    resource: "leases",
    verbs: [],
    rarely: ["get"],
    why: "telling whether another installation that a cluster names still runs",
  },
];

function ofKinds(table: Parameters<typeof entriesOf>[0]): Permission[] {
  return entriesOf(table).flatMap(
    ([
      ,
      {
        resource: { group, plural },
        rights,
        ifRefused,
      },
    ]) =>
      rights.map(({ subresource, verbs = [], rarely = [], why }) => {
        const see = subresource === undefined ? SEE : [];
        const often = ifRefused === "OnDemand" ? [] : see;
        const seldom = [...(ifRefused === "OnDemand" ? see : []), ...rarely];
        return {
          group,
          resource: subresource === undefined ? plural : `${plural}/${subresource}`,
          verbs: [...often, ...verbs],
          ...(seldom.length > 0 && { rarely: seldom }),
          why,
        };
      }),
  );
}

/** In the operator's own namespace. */
export const LEASE: readonly Permission[] = [
  {
    group: "coordination.k8s.io",
    resource: "leases",
    verbs: ["get", "create", "update"],
    why: "leader election",
  },
];

/** Cluster-wide, with --metrics-secure only. */
export const REVIEWS: readonly Permission[] = [
  {
    group: "authentication.k8s.io",
    resource: "tokenreviews",
    verbs: ["create"],
    why: "whose token asks for the metrics",
  },
  {
    group: "authorization.k8s.io",
    resource: "subjectaccessreviews",
    verbs: ["create"],
    why: "whether its account may read them",
  },
];

/** All that a permission grants. */
export function verbsOf({ verbs, rarely = [] }: Permission): KubeVerb[] {
  return [...verbs, ...rarely];
}
