/**
 * What the objects of a cluster are called, how they are labelled, and where members are reached. Names are
 * made from the cluster's and the member's, which are never used twice (H11).
 */
import { GROUP } from "../api/metadata.ts";
import { isSecure } from "../core/flags.ts";
import type { ClusterFacts } from "../core/observation.ts";
import { memberName, ordinalOf, type MemberAddress } from "../core/record.ts";

export const LABELS = {
  cluster: `${GROUP}/cluster`,
  /** Names return with a new cluster of the same name, UIDs never do: this is what tells volumes apart (I9). */
  clusterUID: `${GROUP}/cluster-uid`,
  member: `${GROUP}/member`,
  role: `${GROUP}/role`,
} as const;

export const ANNOTATIONS = {
  /** On a Pod: the hash of what its record said when it was made. */
  startedFrom: `${GROUP}/started-from`,
  /** On an EtcdCluster, by a person: the hash of the rollout that may go on. */
  approve: `${GROUP}/approve`,
  /** On an EtcdMember: a copy of those marks of the cluster that must never be forgotten. */
  marks: `${GROUP}/marks`,
  /** On an EtcdMember with medium HostPath: the node that holds its directory, once its first Pod was placed. */
  node: `${GROUP}/node`,
} as const;

/** Keeps a Pod that is its member's volume from starting before the record permits it (H2, H4). */
export const PERMIT_GATE = `${GROUP}/permit`;

/** Keeps a record until its member has left etcd: deleting it by hand means "replace this member" (I5). */
export const MEMBER_FINALIZER = `${GROUP}/member`;

export const ETCD_CONTAINER = "etcd";

export const PORTS = { client: 2379, peer: 2380, metrics: 2381 } as const;

export function claimName(member: string): string {
  return `data-${member}`;
}

/** Configuration and certificates of one member. */
export function memberSecretName(member: string): string {
  return member;
}

export function serviceNames(cluster: string) {
  return { peers: `${cluster}-peers`, client: `${cluster}-client`, learners: `${cluster}-learners` } as const;
}

export function secretNames(cluster: string) {
  return {
    clientCA: `${cluster}-client-ca`,
    peerCA: `${cluster}-peer-ca`,
    /** What the operator dials etcd with. */
    operator: `${cluster}-operator`,
    /** For the users of the cluster; named in status.clientSecret. */
    client: `${cluster}-client-tls`,
  } as const;
}

export function budgetName(cluster: string): string {
  return cluster;
}

/** The ordinal of a member's Pod, record or claim by its name; 0 for a name that is not of this cluster. */
export function ordinalInName(cluster: string, name: string): number {
  return ordinalOf(cluster, name) ?? ordinalOf(claimName(cluster), name) ?? 0;
}

type Place = Pick<ClusterFacts, "name" | "namespace" | "spec">;

/** The name of a member, under the headless Service of the cluster. */
export function hostOf({ name, namespace }: Pick<Place, "name" | "namespace">, member: string): string {
  return `${member}.${serviceNames(name).peers}.${namespace}.svc`;
}

export interface CertificateNames {
  readonly hosts: readonly string[];
  readonly domains: readonly string[];
}

/**
 * The names in a member's leaf, for `memberSans` of src/pki. Peers are checked by their address, which is looked
 * up under every name (R46): forward under the Service's own name, which leads to all members, and backward,
 * where only wildcards match.
 */
export function certificateNames(
  cluster: Pick<Place, "name" | "namespace">,
  member: string,
  plane: "client" | "peer",
): CertificateNames {
  const { name, namespace } = cluster;
  const { peers, client, learners } = serviceNames(name);
  const full = (service: string) => [
    `${service}.${namespace}.svc`,
    `${service}.${namespace}.svc.cluster.local`,
  ];
  const own = full(peers).map((domain) => `${member}.${domain}`);
  if (plane === "peer") return { hosts: own, domains: full(peers) };
  const short = (service: string) => [service, `${service}.${namespace}`, ...full(service)];
  return {
    hosts: ["localhost", "127.0.0.1", "::1", ...own, ...short(client), ...short(learners)],
    domains: full(peers),
  };
}

export function memberAddress(cluster: Place, ordinal: number): MemberAddress {
  const host = hostOf(cluster, memberName(cluster.name, ordinal));
  const scheme = (plane: "client" | "peer") => (isSecure(cluster.spec.tls, plane) ? "https" : "http");
  const [client, peer] = [scheme("client"), scheme("peer")];
  return {
    peerURL: `${peer}://${host}:${PORTS.peer}`,
    clientURL: `${client}://${host}:${PORTS.client}`,
    metricsURL: `http://${host}:${PORTS.metrics}`,
    listenPeerURL: `${peer}://0.0.0.0:${PORTS.peer}`,
    listenClientURL: `${client}://0.0.0.0:${PORTS.client}`,
    listenMetricsURL: `http://0.0.0.0:${PORTS.metrics}`,
  };
}

/** A peer URL that only this cluster can have made: one of its names under its Service. */
export function isOurPeerURL(cluster: Place, peerURL: string): boolean {
  const url = URL.canParse(peerURL) ? new URL(peerURL) : undefined;
  const [member] = url?.hostname.split(".") ?? [];
  if (url === undefined || member === undefined || ordinalOf(cluster.name, member) === undefined)
    return false;
  return url.hostname === hostOf(cluster, member) && url.port === String(PORTS.peer);
}
