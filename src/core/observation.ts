/**
 * What was seen, once, before deciding: facts only, as plain data. A platform (Kubernetes, local
 * processes, the simulator) fills it in; `decide` reads nothing else. IDs are etcd's, as lower-case hex.
 */
import type { RestoreRecipe, RestoreSource } from "../api/bootstrap.ts";
import type { EtcdClusterSpec } from "../api/etcd-cluster-spec.ts";
import type { EtcdSnapshotScheduleSpec } from "../api/etcd-snapshot-schedule.ts";
import type { AdoptionFacts } from "./facts/adoption-facts.ts";
import type { AuthorityFacts, MemberTrust, Plane } from "./facts/authority-facts.ts";
import type { AuthFacts } from "./auth/facts.ts";
import type { MemberDirectory } from "./facts/directory-facts.ts";
import type { EtcdFacts, MemberAnswer } from "./facts/etcd-facts.ts";
import type { OperationFacts } from "./facts/operation-facts.ts";
import type { SnapshotState } from "./snapshots/facts.ts";
import type { ClusterMarks, MemberAddress, MemberRecord } from "./record.ts";
import type { StepClass } from "./steps/step-class.ts";
import type { MemberNode, NotMade, VolumeFacts, WorkloadFacts } from "./facts/workload-facts.ts";

export type { AuthorityFacts, MemberTrust, Plane, RotationPhase } from "./facts/authority-facts.ts";
export type { DirectoryMember, MemberDirectory, ReadObstacle } from "./facts/directory-facts.ts";
export type {
  EtcdFacts,
  EtcdMemberEntry,
  HashReport,
  MemberAnswer,
  UnreachableCause,
} from "./facts/etcd-facts.ts";
export type { OperationFacts } from "./facts/operation-facts.ts";
export type {
  Clearing,
  DataLeft,
  ExitCause,
  MemberNode,
  NotMade,
  VolumeFacts,
  WorkloadFacts,
} from "./facts/workload-facts.ts";

export interface Observation {
  /**
   * Milliseconds since the epoch, at the end of the observation. All times in here are by the same clock, the
   * controller's own, and can be compared with it; those of records and marks are by the clock of who wrote them.
   */
  readonly now: number;
  /** The same moment by the clock of the server that keeps the objects; absent where there is none. */
  readonly serverNow?: number;
  readonly cluster: ClusterFacts;
  /** One per record, by ascending ordinal. */
  readonly members: readonly MemberFacts[];
  readonly etcd: EtcdFacts;
  readonly platform: PlatformFacts;
  /** The EtcdOperations that name this cluster, in the order of their creation. */
  readonly operations: readonly OperationFacts[];
  /** The EtcdSnapshots that name this cluster. They are decided on apart, by `decideSnapshots`. */
  readonly snapshots?: SnapshotState;
  /** Absent where the platform knows nothing of users. */
  readonly auth?: AuthFacts;
}

export interface ClusterFacts {
  readonly name: string;
  readonly namespace: string;
  readonly uid: string;
  readonly generation: number;
  readonly deleting: boolean;
  /**
   * What a person approved: a rollout by its template hash (update.strategy OnApproval), one step on a member that
   * the operator cannot reach, as `replace-demo-3`, data older than what was seen, as `accept-data-900`, or that clients
   * are shut out by one edit of TLS.
   */
  readonly approved?: string;
  readonly spec: EtcdClusterSpec;
  /** Why the present spec cannot be understood; then `spec` is what the members were last made from. */
  readonly invalid?: string;
  readonly marks: ClusterMarks;
  /** Marks that cannot be read, and the steps that would need them: those wait. */
  readonly unreadable?: readonly UnreadableMark[];
}

export interface UnreadableMark {
  readonly path: string;
  readonly message: string;
  readonly holds: readonly StepClass[];
}

export interface PlatformFacts {
  /** Another controller may be acting (lease lost): nothing may be changed. */
  readonly fenced: boolean;
  /** Addresses for the next members, by ordinal; the platform knows what is free. */
  readonly offers: readonly { readonly ordinal: number; readonly address: MemberAddress }[];
  /** Highest ordinal seen in leftovers that have no record (volumes kept, objects being deleted). */
  readonly highestLeftover: number;
  /** Versions the platform already knows it cannot run, with the reason. */
  readonly unavailableVersions: Readonly<Record<string, string>>;
  /** Versions that are on their way to the platform, with how far they are. */
  readonly arrivingVersions?: Readonly<Record<string, string>>;
  /** Asked beforehand, the platform would make no workload from this spec: nobody stops for it. */
  readonly refusedWorkload?: string;
  /** Asked beforehand, the platform could not say whether it would, and why: nobody stops until it can. */
  readonly unverifiedWorkload?: string;
  /** The key to sign auth tokens with is not kept yet, and why: nobody stops for it. */
  readonly missingTokenKey?: string;
  /** What the EtcdSnapshot that the spec names comes to. */
  readonly restoreFrom?: RestoreRecipe;
  /** Why this platform cannot start a cluster from the snapshot that the spec names. */
  readonly restoreRefused?: { readonly field: string; readonly message: string };
  /** Why no workload could be made for a newcomer now: none is begun until it can. */
  readonly newcomersBlocked?: NotMade;
  /** Objects of our names that belong to somebody else: never touched, and told (I9). */
  readonly clashes: readonly Clash[];
  /** On one machine, for hints: the program as the user called it, and the directory of the cluster. */
  readonly machine?: { readonly command: string; readonly dir: string };
  /** For the approved plan of a recovery: the snapshot that was made from the survivor's data. */
  readonly rescued?: RescuedData;
  /** For the approved plan of a restore in place: the snapshot, fetched and checked. */
  readonly fetched?: FetchedSnapshot;
  /** The last attempt to fetch it, where that takes longer than one step and has not succeeded. */
  readonly fetch?: FetchFacts;
  /** The EtcdSnapshots that restores in place name, by their names. */
  readonly namedSnapshots?: Readonly<Record<string, NamedSnapshot>>;
  /** The schedules that restores to a point in time name, by their names, where those may be of other clusters. */
  readonly pointSchedules?: Readonly<Record<string, EtcdSnapshotScheduleSpec>>;
  /** Why this platform cannot restore a snapshot into this cluster in place. */
  readonly inPlaceRefused?: string;
  /** The last attempt to make what is rescued, where that takes longer than one step and has not succeeded. */
  readonly rescue?: RescueFacts;
  /** For an approved recovery whose snapshot was made: why the first new member could not be made from it. */
  readonly firstMemberRefused?: string;
  /** With `spec.storage.adopt`, until the members are recorded: what a former life left. Absent where none can leave anything. */
  readonly adoption?: AdoptionFacts;
  /** Why this platform cannot recover this cluster from what its members' volumes hold. */
  readonly recoveryRefused?: string;
  /** The CAs of the planes that have one of ours. */
  readonly authorities?: Readonly<Partial<Record<Plane, AuthorityFacts>>>;
  /**
   * Since when this controller has seen that clients can come in the ways that the spec asks for and still in those that
   * it ends. Losing it costs time.
   */
  readonly clientsChooseSince?: number;
  /** For which operation each member was last given other certificates by this controller: its UID, by name. */
  readonly reissuedFor?: Readonly<Record<string, string>>;
  /** Clients were let in. Undefined where there is nothing to let them in by. */
  readonly opened?: boolean;
  /** When a step last succeeded or a wait last ended; losing it only delays a message. */
  readonly progressAt?: number;
}

export interface FetchedSnapshot extends RescuedData {
  /** Bytes of the database in it. */
  readonly size?: number | undefined;
  /** As it was asked for: an EtcdSnapshot that it was may be gone by now, or another one. */
  readonly recipe?: RestoreRecipe | undefined;
}

/** What the EtcdSnapshot that an operation names comes to, or why there is nothing to restore. */
export type NamedSnapshot = { readonly recipe: RestoreRecipe } | { readonly refused: string };

export interface FetchFacts extends RescueFacts {
  /** Another attempt would find the same. */
  readonly definite?: boolean | undefined;
}

export interface RescuedData {
  /** The plan that it was made for. */
  readonly plan: string;
  readonly source: RestoreSource;
  /** The node that the source is a file of, on platforms with several. */
  readonly node?: string | undefined;
  readonly sha256: string;
  readonly revision: number;
}

export interface RescueFacts {
  readonly plan: string;
  readonly attempt: number;
  /** Stranded: the node that it is on has not answered for so long that nothing comes of it. */
  readonly state: "running" | "failed" | "stranded";
  /** What it waits for, or why it failed. */
  readonly why?: string | undefined;
  /** The node that it is on, where that does not answer. */
  readonly lostNode?: string;
}

export interface Clash {
  /** `Service default/demo-client`. */
  readonly object: string;
  /**
   * Who lacks it: nothing may be done for the cluster; its members find or trust no newcomer; only those who use the
   * cluster or drain its nodes; or one member, which cannot be started.
   */
  readonly concerns: "cluster" | "members" | "users" | "member";
  readonly member?: string;
  /** The field of the spec that, set to false, does without it. */
  readonly offBy?: string;
}

export interface MemberFacts {
  readonly record: MemberRecord;
  /** Somebody deleted the record by hand: replace this member (I5). */
  readonly deleting: boolean;
  /** A person fenced it: it keeps running and voting, but clients are not sent to it and it should not lead. */
  readonly fenced?: boolean;
  readonly volume: VolumeFacts;
  readonly workload: WorkloadFacts;
  readonly node?: MemberNode;
  /** What this member itself answered; undefined when it was not asked because nothing runs. */
  readonly answer: MemberAnswer;
  /**
   * It has joined, and it is not known yet that a restart of its process would read the configuration of a member
   * that has (H3). Absent where every start reads the newest.
   */
  readonly unconfirmed?: boolean;
  /** It serves, and without what it was seen to hold: it came back empty under its old identity. */
  readonly forgot?: LostData;
  /**
   * Since when it has not been healthy; undefined while it is. It begins again when it becomes known that others cannot
   * reach it either. Losing it costs time, never safety.
   */
  readonly unhealthySince?: number;
  /**
   * How often its workload ended for good since it last stayed healthy for a while; absent where it did not. Losing it
   * costs an attempt, never safety.
   */
  readonly ends?: number | undefined;
  /**
   * Since when it has been proven, without a break, that its data is gone; undefined where it is not. Losing it costs
   * time, never safety.
   */
  readonly goneSince?: number;
  /** For one that we cannot reach: whether a peer is connected to it; undefined where none was or could be asked. */
  readonly seenByPeers?: boolean;
  /** What its data directory holds, where it was looked into: without quorum, to know what can be recovered. */
  readonly directory?: MemberDirectory;
  /** Of planes whose CA is being rotated. Losing it costs a look. */
  readonly trust?: Readonly<Partial<Record<Plane, MemberTrust>>>;
  /** For one that does not answer us: whether its `/livez` does, which needs neither quorum nor credentials (R34). */
  readonly alive?: boolean;
}

export interface LostData {
  /** What shows it. */
  readonly evidence: string;
  /** The highest revision that was seen before: what a person who accepts the loss names it by. */
  readonly seenRevision: number;
}
