/**
 * The NetworkPolicy of a cluster: who may connect to which port of its members. Pods that are not members (snapshots,
 * readers of volumes, recoveries) are not selected by it, and what members connect to is not limited.
 */
import type {
  NetworkPolicy,
  NetworkPolicyIngressRule,
  NetworkPolicyPeer,
} from "kubernetes-types/networking/v1.d.ts";
import type { NetworkPolicyWish } from "../../api/network-policy.ts";
import type { View } from "../../core/view.ts";
import { LABELS, networkPolicyName, PORTS } from "../names.ts";
import { annotationsOf, clusterLabels, ownedByCluster, selectorOf } from "./metadata.ts";

/** By what the Pods of the operator are told from all others. */
export interface OperatorPods {
  readonly namespace: string;
  readonly labels: Readonly<Record<string, string>>;
}

type Port = keyof typeof PORTS;

/** Undefined where the spec does not ask for one. */
export function networkPolicy(view: View, operator: OperatorPods, life?: number): NetworkPolicy | undefined {
  const { cluster } = view.observation;
  const wish = cluster.spec.networkPolicy;
  if (!wish?.enabled) return undefined;
  // It limits who reaches a member of any life; of them, those of this life are let in.
  const members = { podSelector: { matchLabels: selectorOf(cluster, "all") } };
  const present = { podSelector: { matchLabels: selectorOf(cluster, "all", life) } };
  const snapshots = {
    podSelector: {
      matchLabels: { "app.kubernetes.io/component": "snapshot", [LABELS.cluster]: cluster.name },
    },
  };
  const operators = {
    namespaceSelector: { matchLabels: { "kubernetes.io/metadata.name": operator.namespace } },
    podSelector: { matchLabels: operator.labels },
  };
  return {
    apiVersion: "networking.k8s.io/v1",
    kind: "NetworkPolicy",
    metadata: {
      name: networkPolicyName(cluster.name),
      namespace: cluster.namespace,
      labels: clusterLabels(cluster),
      ...annotationsOf(cluster),
      ownerReferences: [ownedByCluster(cluster)],
    },
    spec: {
      podSelector: members.podSelector,
      policyTypes: ["Ingress"],
      ingress: [
        allowed([present], ["peer", "client"]),
        // By the peer port it looks at the certificates that members show each other.
        allowed([operators], ["client", "metrics", "peer"]),
        allowed([snapshots], ["client"]),
        // A rule without anybody would let everybody in.
        ...listed(wish.clients, "client"),
        ...listed(wish.metrics, "metrics"),
      ],
    },
  };
}

function listed(peers: NetworkPolicyWish["clients"], port: Port): NetworkPolicyIngressRule[] {
  return peers === undefined || peers.length === 0 ? [] : [allowed(peers.map(kept), [port])];
}

function allowed(from: NetworkPolicyPeer[], ports: readonly Port[]): NetworkPolicyIngressRule {
  return { from, ports: ports.map((name) => ({ port: PORTS[name], protocol: "TCP" })) };
}

/** As the API server keeps it: without empty lists and maps, which would look like a difference for ever. */
function kept(peer: NonNullable<NetworkPolicyWish["clients"]>[number]): NetworkPolicyPeer {
  const fields = Object.entries(peer).flatMap(([name, value]) =>
    value === undefined ? [] : [[name, withoutEmpty(value)] as const],
  );
  return Object.fromEntries(fields);
}

function withoutEmpty(value: object): object {
  const isEmpty = (one: unknown) =>
    one === undefined || (typeof one === "object" && one !== null && Object.keys(one).length === 0);
  return Object.fromEntries(Object.entries(value).filter(([, one]) => !isEmpty(one)));
}
