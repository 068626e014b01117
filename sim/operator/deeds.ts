/**
 * What is done to a cluster and its operators in one run, as data: made up from a seed, written to a file, made
 * smaller. Members and nodes are picked by number from those there are when their time comes.
 */
import type { EtcdClusterSpecInput } from "../../src/api/etcd-cluster-spec.ts";
import type { OperationName } from "../../src/api/status-words.ts";
import type { EffectFault } from "./effects.ts";

/** What happens to one member; those that destroy its data happen only when the cluster can spare it. */
export const memberFaults = [
  "kill",
  "delete-pod",
  "evict",
  "freeze",
  "slow",
  "move-leader",
  "disk-full",
  "delete-member",
  "wipe",
  "lose-volume",
  "delete-claim",
  "break-file",
  "corrupt",
] as const;
/** What plain seeds do not draw, so that they stay what they are: taken out of etcd's list by hand. */
export const rareMemberFaults = ["remove-member"] as const;
export const nodeFaults = ["crash", "cut", "freeze", "drain", "remove", "no-room"] as const;
export const operatorFaults = ["kill", "freeze", "cut", "cut-lease"] as const;
export const apiFaults = [
  "restart",
  "freeze",
  "stop",
  "lag",
  "lost",
  "reply-lost",
  "silent",
  "busy",
] as const;
/** What a person does by hand to an object that the operator made. */
export const handiwork = ["delete", "strip", "disown"] as const;
export const handmade = ["secrets", "services", "poddisruptionbudgets", "pods"] as const;
/** Of these only labels and owners are taken, since their deletion is a request, or loses data. */
export const records = ["persistentvolumeclaims", "etcdmembers"] as const;
/** Only where the spec asks for one. */
export const policies = ["networkpolicies"] as const;
/** What operators keep caches of. */
export const caches = [
  "etcdclusters",
  "etcdmembers",
  "pods",
  "persistentvolumeclaims",
  "secrets",
  "services",
  "poddisruptionbudgets",
  "nodes",
] as const;
/** Also held where operations are under way; plain seeds do not draw it. */
export const allCaches = [...caches, "etcdoperations"] as const;

export type MemberFault = (typeof memberFaults)[number] | (typeof rareMemberFaults)[number];

export const refused = ["pods", "persistentvolumeclaims", "secrets", "etcdmembers"] as const;
export const refusals = ["webhook", "quota", "forbidden"] as const;
export const contested = ["services", "poddisruptionbudgets", "secrets", "pods"] as const;

/** The last two are a loss that only a person can mend; nothing may start over as if there had been nothing. */
export const emptied = ["one", "quorum", "all"] as const;

export type Denial =
  /** No operator reaches the client port of one member or of all; everybody else does. */
  | { readonly do: "blind"; readonly pick: number; readonly all: boolean; readonly forMs: number }
  /** The API server refuses to create objects of a kind. */
  | {
      readonly do: "refuse";
      readonly plural: (typeof refused)[number];
      readonly how: (typeof refusals)[number];
      readonly forMs: number;
    }
  /** Somebody else insists on another value of a field that is the operator's. */
  | {
      readonly do: "contest";
      readonly plural: (typeof contested)[number];
      readonly pick: number;
      readonly forMs: number;
    }
  /** A Pod is deleted and hangs. */
  | { readonly do: "stick"; readonly pick: number; readonly forMs: number }
  /** Somebody adds a member of his own to etcd's list, which never starts. */
  | { readonly do: "foreign"; readonly learner: boolean }
  /** A member counts a peer as lost although it is connected to it, until their connection breaks (R19). */
  | { readonly do: "doubt"; readonly pick: number }
  /** The clock of a node jumps. */
  | { readonly do: "node-clock"; readonly pick: number; readonly jumpMs: number }
  /** Kubelets write the files of a Secret this long after they reported a change of the Pod. */
  | { readonly do: "late-files"; readonly lateMs: number; readonly forMs: number }
  /** The kubelet of one node cannot reach the API server; what runs there is reached as before. */
  | { readonly do: "cut-kubelet"; readonly pick: number; readonly forMs: number }
  /** The data of so many members is gone at once, whether or not the cluster can spare it, and their processes end. */
  | { readonly do: "empty"; readonly who: (typeof emptied)[number]; readonly pick: number };

export type Operate =
  | {
      readonly do: "operate";
      readonly task: OperationName;
      /** The member that it names; with `all`, none where it need not. */
      readonly pick: number;
      readonly all: boolean;
      /** Names a member, or a cluster, that does not exist. */
      readonly wrong?: "member" | "cluster";
      readonly ttlSeconds?: number;
    }
  /** Deleted, in whatever phase it is. */
  | { readonly do: "cancel"; readonly pick: number };

/** Of the processes that fetch a snapshot for a restore in place. */
export const fetchFaults = ["unreachable", "denied", "damaged", "not-found", "failed"] as const;
/** Of those that save, verify and delete one: see snapshot-pods.ts. */
export const snapshotFaults = ["denied", "broken", "silent", "half", "hang"] as const;

/** What a person does about the data as a whole. */
export type DataDeed =
  /** Takes a snapshot; `faults` befall the next processes, in order; `isDeleted`: its object goes with it. */
  | {
      readonly do: "snapshot";
      readonly faults: readonly (typeof snapshotFaults)[number][];
      readonly verify: boolean;
      readonly isDeleted: boolean;
    }
  | { readonly do: "drop-snapshot"; readonly pick: number }
  /** Asks for the plan of a restore in place. */
  | { readonly do: "restore"; readonly faults: readonly (typeof fetchFaults)[number][] }
  /** Approves the plan of a recovery or of the last restore, if one is told. */
  | { readonly do: "approve" };

export type Deed =
  | { readonly do: "edit"; readonly change: Readonly<Record<string, unknown>> }
  | {
      readonly do: "member";
      readonly fault: MemberFault;
      readonly pick: number;
      /** Also while something else is wrong, as long as a quorum of the others is well. */
      readonly bold?: boolean;
    }
  | {
      readonly do: "node";
      readonly fault: (typeof nodeFaults)[number];
      readonly pick: number;
      readonly forMs: number;
    }
  | {
      readonly do: "operator";
      readonly fault: (typeof operatorFaults)[number];
      readonly pick: number;
      readonly forMs: number;
    }
  | {
      readonly do: "hand";
      readonly what: (typeof handiwork)[number];
      readonly plural: (typeof handmade)[number] | (typeof records)[number] | (typeof policies)[number];
      readonly pick: number;
    }
  /** A person replaces the certificates in the Secrets that the spec names: from another CA, or the same one. */
  | { readonly do: "give"; readonly ca: number }
  /** A person fences a member, or takes that back. */
  | { readonly do: "fence"; readonly pick: number; readonly on: boolean }
  /** The wall clock jumps, of one operator or of everything; certificates grow old by it. */
  | { readonly do: "clock"; readonly pick: number; readonly everywhere: boolean; readonly jumpMs: number }
  | { readonly do: "api"; readonly fault: (typeof apiFaults)[number]; readonly forMs: number }
  | {
      readonly do: "hold";
      readonly cache: (typeof allCaches)[number];
      readonly forMs: number;
      /** What happened meanwhile is never told. */
      readonly skip: boolean;
      /** The operators begin anew with what is held. */
      readonly restart: boolean;
    }
  | Operate
  | DataDeed
  | Denial;

/** Each deed is followed by its wait. */
export type Move = Deed & { readonly waitMs: number };

export interface Schedule {
  readonly seed: number;
  readonly operators: number;
  readonly spec: EtcdClusterSpecInput;
  /** Whether the cluster may come to rest before the first move. */
  readonly settled: boolean;
  /** As installed for one namespace: what is cluster-wide may not be read. */
  readonly nodesForbidden?: boolean;
  /** How far the wall clock of every operator is ahead, for the whole run. */
  readonly aheadMs?: number;
  /** The same of each node, in the order of their names, from the beginning. */
  readonly nodesAheadMs?: readonly number[];
  /** It is looked at as if there were at least so many clusters: mostly by short looks. */
  readonly leastClusters?: number;
  readonly effects: readonly (readonly [number, EffectFault])[];
  readonly moves: readonly Move[];
}
