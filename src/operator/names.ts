/**
 * What the objects of a cluster are called, how they are labelled, and where members are reached. Names are
 * made from the cluster's and the member's, which are never used twice (H11).
 *
 * Two clusters of a namespace never make the same name. Within a kind every name ends with a dash and a word of
 * that kind's own, and no such word ends with a dash and another one, so that a name tells its cluster:
 *
 *   Service                 -peers, -client, -learners, -<ordinal>-peer (a member's), and the cluster's own name
 *   Secret                  -client-ca, -peer-ca, -operator, -client-tls, -snapshot-tls, -<ordinal> (a member's)
 *   Secret, Certificate     -operator-issued, -client-issued, -<ordinal>-server-issued, -<ordinal>-gateway-issued,
 *                           -<ordinal>-peer-issued
 *                           of EtcdUsers -etcd-tls and -etcd-issued (after the name of the object)
 *                           with auth also -root, -operator-auth, -client-auth and -auth-token
 *   EtcdMember, Pod, claim  -<ordinal> (claims with data- in front)
 *   Pod                     -<hash>-inspect, -<hash>-<attempt>-rescue (of a recovery), -<hash>-<attempt>-fetch
 *   claim                   -<hash>-restore (of a restore in place)
 *   PodDisruptionBudget     nothing: there is one per cluster
 *
 * This is why the headless Service does not simply bear the cluster's name: that of a cluster `a-client` would
 * be the client Service of `a`; and why a member's is not called like the member: `a-1` may be a cluster. For the same
 * reason a cluster whose own name ends with such a word has no Service of that name, which others can do without. What
 * somebody else made under one of these names is reported as a clash (I9).
 */
import { GROUP } from "../api/metadata.ts";
import { isSecure, modeOf } from "../core/config/flags.ts";
import { shortHash } from "../core/template/hash.ts";
import type { ClusterFacts } from "../core/observation.ts";
import { memberName, ordinalOf, type MemberAddress, type MemberRecord } from "../core/record.ts";

export const LABELS = {
  cluster: `${GROUP}/cluster`,
  /** Names return with a new cluster of the same name, UIDs never do: this is what tells volumes apart (I9). */
  clusterUID: `${GROUP}/cluster-uid`,
  member: `${GROUP}/member`,
  role: `${GROUP}/role`,
  /** On a Pod: which life of the cluster its member is of, from the second one on. */
  life: `${GROUP}/life`,
  /** On a Job and its Pods: the UID of the EtcdSnapshot, what is done for it, and for which time. */
  snapshotUID: `${GROUP}/snapshot-uid`,
  /** On an EtcdSnapshot: the UID of the EtcdSnapshotSchedule that made it. */
  scheduleUID: `${GROUP}/schedule-uid`,
  /** On an EtcdSnapshot: the minor version of etcd before whose rollout it was taken. */
  before: `${GROUP}/before`,
  /** On an EtcdSnapshot of a point in time: the UID of the EtcdCluster or EtcdOperation that restores it. */
  restores: `${GROUP}/restores`,
  task: `${GROUP}/task`,
  attempt: `${GROUP}/attempt`,
  /** On a claim, as etcd has them, in hexadecimal: what its volume holds. */
  clusterID: `${GROUP}/cluster-id`,
  memberID: `${GROUP}/member-id`,
} as const;

export const ANNOTATIONS = {
  /** On a Pod: the hash of what its record said when it was made, or when its resources were changed. */
  startedFrom: `${GROUP}/started-from`,
  /** On an EtcdCluster, by a person: the hash of a rollout that may go on, a step on an unreachable member, or older data. */
  approve: `${GROUP}/approve`,
  /** On an EtcdCluster: how many members the newest spec asked for that could be understood. */
  size: `${GROUP}/size`,
  /** On an EtcdCluster: the installation that looks after it, by the namespace and name of its Lease. */
  operator: `${GROUP}/operator`,
  /** On an EtcdMember, by a person: any value but "false" takes it out of the client Service and from leading. */
  fence: `${GROUP}/fence`,
  /** On an EtcdCluster that names no image repository: the image of its version, from the operator's repository. */
  image: `${GROUP}/image`,
  /** On an EtcdMember: a copy of those marks of the cluster that must never be forgotten. */
  marks: `${GROUP}/marks`,
  /** On an EtcdMember with medium HostPath: the node that holds its directory, once its first Pod was placed. */
  node: `${GROUP}/node`,
  /**
   * On an EtcdMember with medium HostPath: how its directory begins. An operator that wrote no such annotation named
   * directories otherwise, and the members that it made keep theirs.
   */
  directory: `${GROUP}/directory`,
  /** On a Pod: which labels and annotations of it come from the spec, so that they can be taken away again. */
  given: `${GROUP}/given`,
  /** On a Pod: when this was written, its Secret held the file of a member that has joined (H3). */
  latched: `${GROUP}/latched`,
  /** On the Pod of a member that starts from a snapshot: the flag with which its init containers do their work, or nothing. */
  restore: `${GROUP}/restore-flag`,
  /** On a member's Secret: which server certificate came into it together with the file of a member that has joined. */
  joinedCertificate: `${GROUP}/joined-certificate`,
  /** On the Secret of a CA: which rotation it is in, since when, and which operation asked for it. */
  rotation: `${GROUP}/ca-rotation`,
  /** On a claim: the cluster token and the peer URL of the member whose data its volume holds. */
  token: `${GROUP}/token`,
  peerURL: `${GROUP}/peer-url`,
  /** On a claim: the etcd version of the member. */
  etcdVersion: `${GROUP}/etcd-version`,
  /** On a claim: there is a Pod that uses its volume; and when one last began to, or ended. */
  inUse: `${GROUP}/in-use`,
  lastUsed: `${GROUP}/last-used`,
  /** On a claim: the hash of what was last written on its PersistentVolume. */
  volumeMarked: `${GROUP}/volume-marked`,
  /** On an EtcdSnapshot: the time of the schedule that it was made for. */
  scheduledAt: `${GROUP}/scheduled-at`,
  /** On an EtcdSnapshot, by a schedule or a person: another value asks for another verification. */
  verify: `${GROUP}/verify`,
  /** On a Pod that reads a member's volume: which volume, and which run of the member it came after. */
  reads: `${GROUP}/reads`,
  /** On the Pod of a recovery or of a restore in place: the hash of the approved plan, and the UID of the operation that approved it. */
  plan: `${GROUP}/plan`,
  /** On the Pod of a restore in place: which snapshot it was asked for, as JSON. */
  recipe: `${GROUP}/recipe`,
  /** On the claim of a restore in place: what its Pod told, and for which approval, as JSON. */
  fetched: `${GROUP}/fetched`,
  /** On Services and budgets: the hash of what was applied last. */
  applied: `${GROUP}/applied`,
} as const;

/** Keeps a Pod that is its member's volume from starting before the record permits it (H2, H4). */
export const PERMIT_GATE = `${GROUP}/permit`;

/** Keeps a cluster until its members have ended and its volumes are dealt with as the retention says. */
export const CLUSTER_FINALIZER = `${GROUP}/cluster`;

/** Keeps a record until its member has left etcd: deleting it by hand means "replace this member" (I5). */
export const MEMBER_FINALIZER = `${GROUP}/member`;

/** Keeps an EtcdSnapshot until its object is deleted from the store, where its policy asks for that. */
export const SNAPSHOT_FINALIZER = `${GROUP}/snapshot`;

/** Of the Pods that take snapshots, where the spec names none: without any rights, and nothing of it is mounted. */
export const SNAPSHOT_SERVICE_ACCOUNT = "quorate-snapshot";

/** Keeps an EtcdUser or EtcdRole until it is gone from etcd. */
export const AUTH_FINALIZER = `${GROUP}/auth`;

export const ETCD_CONTAINER = "etcd";

/** Of the Pod that records changes for a schedule: the value of its label `task`, and its container. */
export const FOLLOW_TASK = "follow";
export const FOLLOW_CONTAINER = "follow";

/** Init containers of a member that starts from a snapshot. */
export const RESTORE_CONTAINERS = {
  stage: "fetch-snapshot",
  etcdutl: "restore-snapshot",
  place: "place-data",
} as const;

/** Containers of the Pod that verifies a snapshot: fetched, restored, and served by an etcd while it is compared. */
export const VERIFY_CONTAINERS = {
  fetch: "fetch-snapshot",
  etcdutl: "restore-snapshot",
  etcd: "scratch-etcd",
} as const;

/** Of the Pods of a recovery: what reads a volume; what copies data, runs on the copy beside etcd, and saves it. */
export const RECOVERY_CONTAINERS = {
  inspect: "inspect",
  copy: "copy-data",
  etcd: "survivor",
  save: "save-snapshot",
} as const;

/** `reads`: what tells one reading from another. */
export function inspectPodName(member: string, reads: string): string {
  return `${member}-${shortHash(reads).slice(0, 8)}-inspect`;
}

export function rescuePodName(cluster: string, plan: string, attempt: number): string {
  return `${cluster}-${plan}-${attempt}-rescue`;
}

/** Of the Pod that brings the snapshot of a restore in place onto a volume, and checks it. */
export const FETCH_CONTAINER = "fetch-and-check";

export function fetchPodName(cluster: string, plan: string, attempt: number): string {
  return `${cluster}-${plan}-${attempt}-fetch`;
}

/** For the snapshot of a restore in place, until a member was restored from it. */
export function restoreClaimName(cluster: string, plan: string): string {
  return `${cluster}-${plan}-restore`;
}

export const PORTS = { client: 2379, peer: 2380, metrics: 2381 } as const;

export function claimName(member: string): string {
  return `data-${member}`;
}

/** The beginning of the directory of a member, below `storage.hostPath` of a node: it tells whose data is in it. */
export function directoryBeginning(
  { namespace, name, uid }: Pick<ClusterFacts, "namespace" | "name" | "uid">,
  member: string,
): string {
  return `${namespace}/${name}.${uid}/${member}`;
}

/** Instead of a beginning: the whole directory, which a former life of the member had. */
export function wholeDirectory(path: string): string {
  return `${WHOLE}${path}`;
}

/** No name of a namespace begins with it. */
export const WHOLE = "=";

/** Configuration and certificates of one member. */
export function memberSecretName(member: string): string {
  return member;
}

export function serviceNames(cluster: string) {
  return { peers: `${cluster}-peers`, client: `${cluster}-client`, learners: `${cluster}-learners` } as const;
}

/** Endings of the Services of other clusters: whoever has such a name must not take theirs. */
const OF_A_SERVICE = /-(peers|client|learners|[1-9]\d{0,8}-peer)$/;

/** The Service by which a Pod dials the cluster as `my-cluster:2379`; undefined where another cluster may need the name. */
export function ownServiceName(cluster: string): string | undefined {
  return OF_A_SERVICE.test(cluster) ? undefined : cluster;
}

/** The Service that one member is dialled through by its peers. */
export function peerServiceName(member: string): string {
  return `${member}-peer`;
}

/** The member that a Service of this cluster is for; empty for one that is no member's. */
export function memberOfService(cluster: string, service: string): string {
  const suffix = peerServiceName("");
  const member = service.endsWith(suffix) ? service.slice(0, -suffix.length) : "";
  return ordinalOf(cluster, member) === undefined ? "" : member;
}

export function secretNames(cluster: string) {
  return {
    clientCA: `${cluster}-client-ca`,
    peerCA: `${cluster}-peer-ca`,
    /** What the operator dials etcd with. */
    operator: `${cluster}-operator`,
    /** For the users of the cluster; named in status.clientSecret. */
    client: `${cluster}-client-tls`,
    /** What the process that takes snapshots dials etcd with; made when there are snapshots. */
    snapshot: `${cluster}-snapshot-tls`,
    /** The keys that members sign auth tokens with. */
    tokenKeys: `${cluster}-auth-token`,
  } as const;
}

/** Certificates of cert-manager, and the Secrets that it writes them to. */
export const issuedNames = {
  member: (member: string, plane: "client" | "peer") =>
    `${member}-${plane === "client" ? "server" : "peer"}-issued`,
  gateway: (member: string) => `${member}-gateway-issued`,
  operator: (cluster: string) => `${cluster}-operator-issued`,
  client: (cluster: string) => `${cluster}-client-issued`,
  /** Of an EtcdUser, whose name is the only one of its kind in the namespace. */
  user: (object: string) => `${object}-etcd-issued`,
} as const;

/** Common names: who a client is to etcd. */
export const CLIENTS = {
  operator: "quorate-operator",
  user: "quorate-user",
  snapshot: "quorate-snapshot",
} as const;

/** With which the process that takes snapshots dials etcd: where we do not sign ourselves, as the operator does. */
export function snapshotSecretName({ name, spec }: Pick<ClusterFacts, "name" | "spec">): string {
  const { snapshot, operator } = secretNames(name);
  return modeOf(spec.tls, "client") === "Managed" ? snapshot : operator;
}

export function budgetName(cluster: string): string {
  return cluster;
}

export function networkPolicyName(cluster: string): string {
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

/**
 * What peers dial a member by: a Service of its own, whose address is there before anybody asks for it and never
 * changes, so that it does not matter what DNS remembers (H15).
 */
export function peerHostOf({ namespace }: Pick<Place, "namespace">, member: string): string {
  return `${peerServiceName(member)}.${namespace}.svc`;
}

/** Whether peers dial it by its Service; members of older operators, and where a Service was refused, are dialled by their Pods' names. */
export function hasPeerService(
  cluster: Pick<Place, "namespace">,
  { name, address }: Pick<MemberRecord, "name" | "address">,
): boolean {
  return hostIn(address.peerURL) === peerHostOf(cluster, name);
}

function hostIn(url: string): string | undefined {
  return URL.canParse(url) ? new URL(url).hostname : undefined;
}

/** Where Kubernetes' own names end, unless the operator is told otherwise. */
export const CLUSTER_DOMAIN = "cluster.local";

export interface CertificateNames {
  readonly hosts: readonly string[];
  readonly domains: readonly string[];
}

/**
 * The names in a member's leaf, for `memberSans` of src/pki. A peer that dials with this leaf (etcd 3.4 has no other) is
 * checked by its address, which is looked up under every name (R46): forward under the Service's own name, which leads
 * to all members, and backward, where only wildcards match.
 */
export function certificateNames(
  cluster: Pick<Place, "name" | "namespace">,
  record: Pick<MemberRecord, "name" | "address">,
  plane: "client" | "peer",
  clusterDomain = CLUSTER_DOMAIN,
): CertificateNames {
  const { name, namespace } = cluster;
  const { peers, client, learners } = serviceNames(name);
  const full = (service: string) => [
    `${service}.${namespace}.svc`,
    `${service}.${namespace}.svc.${clusterDomain}`,
  ];
  const own = full(peers).map((domain) => `${record.name}.${domain}`);
  const dialled = hasPeerService(cluster, record) ? full(peerServiceName(record.name)) : [];
  const here = ["localhost", "127.0.0.1", "::1"];
  if (plane === "peer") return { hosts: [...here, ...own, ...dialled], domains: full(peers) };
  const short = (service: string) => [service, `${service}.${namespace}`, ...full(service)];
  // Whether or not there is a Service of the cluster's own name now: it may be switched on and off at any time.
  return {
    hosts: [...here, ...own, ...short(name), ...short(client), ...short(learners)],
    domains: full(peers),
  };
}

/**
 * What the certificate of a gateway is issued for, where it has to have a name: nobody is reached by it, so that nobody
 * can be a peer with it (R46), and etcd reads users from common names alone (R55).
 */
export function gatewayHost({ namespace }: Pick<Place, "namespace">, member: string): string {
  return `${member}-gateway.${namespace}.svc`;
}

/**
 * Of those, the names that a leaf which somebody else made has to have: what we and the other members dial this one by,
 * what clients do, and on the peer plane the name that all members share (R46, R49).
 */
export function neededNames(
  cluster: Pick<Place, "name" | "namespace">,
  { name, address }: Pick<MemberRecord, "name" | "address">,
  plane: "client" | "peer",
): string[] {
  const { peers, client } = serviceNames(cluster.name);
  const at = (service: string) => `${service}.${cluster.namespace}.svc`;
  return plane === "client"
    ? [at(client), hostOf(cluster, name)]
    : [at(peers), hostIn(address.peerURL) ?? hostOf(cluster, name)];
}

/**
 * Go reads 0.0.0.0 as every address of every family that the kernel has: IPv4, IPv6 or both. [::] does the same,
 * but cannot be listened on where IPv6 is switched off in the kernel.
 */
const EVERYWHERE = "0.0.0.0";

/** `dialled`: what its peers dial it by. */
export function memberAddress(cluster: Place, ordinal: number, dialled: "Service" | "Pod"): MemberAddress {
  const name = memberName(cluster.name, ordinal);
  const host = hostOf(cluster, name);
  const peerHost = dialled === "Service" ? peerHostOf(cluster, name) : host;
  const scheme = (plane: "client" | "peer") => (isSecure(cluster.spec.tls, plane) ? "https" : "http");
  const [client, peer] = [scheme("client"), scheme("peer")];
  return {
    peerURL: `${peer}://${peerHost}:${PORTS.peer}`,
    clientURL: `${client}://${host}:${PORTS.client}`,
    metricsURL: `http://${host}:${PORTS.metrics}`,
    listenPeerURL: `${peer}://${EVERYWHERE}:${PORTS.peer}`,
    listenClientURL: `${client}://${EVERYWHERE}:${PORTS.client}`,
    listenMetricsURL: `http://${EVERYWHERE}:${PORTS.metrics}`,
  };
}

/** A peer URL that only this cluster can have made: a member's Service, or a name under the headless one. */
export function isOurPeerURL(cluster: Place, peerURL: string): boolean {
  const url = URL.canParse(peerURL) ? new URL(peerURL) : undefined;
  const [label = ""] = url?.hostname.split(".") ?? [];
  if (url?.port !== String(PORTS.peer)) return false;
  const member = label.replace(/-peer$/, "");
  if (ordinalOf(cluster.name, member) === undefined) return false;
  return [hostOf(cluster, member), peerHostOf(cluster, member)].includes(url.hostname);
}
