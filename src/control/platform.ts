/**
 * What a platform does for the control loop: read its objects, make the wanted ones exist, carry out the
 * steps that concern objects, and tell how etcd is reached. Kubernetes, one machine and the simulator
 * implement this; everything about etcd itself is shared and lives beside this file.
 */
import type { EtcdClusterStatus } from "../api/etcd-cluster-status.ts";
import type { Action } from "../core/action.ts";
import type { AuthObjects } from "../core/auth/facts.ts";
import type {
  ClusterFacts,
  EtcdMemberEntry,
  MemberDirectory,
  MemberFacts,
  MemberNode,
  OperationFacts,
  PlatformFacts,
  VolumeFacts,
  WorkloadFacts,
} from "../core/observation.ts";
import type { MemberRecord } from "../core/record.ts";
import type { SnapshotEffect } from "../core/snapshots/effect.ts";
import type { SnapshotState } from "../core/snapshots/facts.ts";
import type { GivenStatus } from "../core/status/status.ts";
import type { View } from "../core/view.ts";
import type { Credentials } from "../etcd/caller.ts";
import type { EtcdProbe } from "../seams/etcd-probe.ts";
import type { Endpoint, EtcdTransport } from "../seams/etcd-transport.ts";
import type { Problem } from "./problem.ts";

/** Steps that change objects of the platform; the others are calls to etcd. */
export type ObjectActionKind =
  | "CreateMember"
  | "UpdateMember"
  | "DeleteMember"
  | "MarkCluster"
  | "StopWorkload"
  | "DeleteVolume"
  | "RescueData"
  | "FetchSnapshot"
  | "BindVolume"
  | "FinishDeletion"
  | "RotateAuthority"
  | "ReissueCertificates"
  | "CreateOperation"
  | "UpdateOperation"
  | "DeleteOperation"
  | "UpdateAuthObject";
export type ObjectAction = Extract<Action, { kind: ObjectActionKind }>;
export type EtcdAction = Exclude<Action, ObjectAction>;

export interface PlatformMember {
  readonly record: MemberRecord;
  readonly deleting: MemberFacts["deleting"];
  readonly fenced?: MemberFacts["fenced"];
  readonly volume: VolumeFacts;
  readonly workload: WorkloadFacts;
  readonly node?: MemberNode;
  readonly unconfirmed?: MemberFacts["unconfirmed"];
}

/** All objects, read after our own last write (read-your-writes). */
export interface PlatformState {
  readonly cluster: ClusterFacts;
  readonly members: readonly PlatformMember[];
  readonly platform: Omit<PlatformFacts, "progressAt">;
  /** Those that name this cluster, in the order of their creation. */
  readonly operations: readonly OperationFacts[];
  /** Absent where the platform takes none, or knows of none. */
  readonly snapshots?: SnapshotState;
  /** Absent where nobody has users. */
  readonly auth?: AuthObjects;
}

/** What applying the objects came to. */
export interface Applied {
  /** Something was made, changed or started: look again at once. */
  readonly changed: boolean;
  /** What could not be made: shown in status, tried again on the next pass. */
  readonly problems: readonly Problem[];
  /** When a restart or a renewal is due. */
  readonly lookAgainAt?: number;
}

export function together(...parts: readonly Applied[]): Applied {
  const times = parts.flatMap(({ lookAgainAt }) => lookAgainAt ?? []);
  return {
    changed: parts.some(({ changed }) => changed),
    problems: parts.flatMap(({ problems }) => problems),
    ...(times.length > 0 && { lookAgainAt: Math.min(...times) }),
  };
}

export interface Platform {
  /** Undefined when the cluster does not exist (any more). */
  read(): Promise<PlatformState | undefined>;
  /**
   * Whether `read` would show the very objects that it last showed, and users have been told all that followed from
   * them; absent where nobody knows.
   */
  isUnchanged?(): boolean;
  /** What time it is where objects are kept; absent where no server keeps them. */
  serverNow?(): number;
  /**
   * Makes every wanted object exist as rendered from the records and the spec. Never called for a cluster that is
   * paused, fenced or being deleted: the loop sees to that.
   */
  apply(view: View): Promise<Applied>;
  /**
   * What a kubelet does for Pods, where there is none: starts again what ended, kills what hangs. Makes nothing new,
   * and is called while paused as well.
   */
  keepRunning?(view: View): Promise<Applied>;
  /**
   * What the data directories of these members hold, by name; asked for without quorum. Absent where the platform cannot
   * look into them.
   */
  inspect?(
    members: readonly PlatformMember[],
    view: View,
  ): Promise<Readonly<Record<string, MemberDirectory>>>;
  execute(action: ObjectAction): Promise<void>;
  /** One effect for a snapshot; absent where the platform takes none. */
  executeSnapshot?(effect: SnapshotEffect): Promise<void>;
  /**
   * Keeps the status where users look; called on every pass, writes only what changed (I7). `goesOn`: another
   * pass follows at once, so that what is said now may be old in a moment.
   */
  report(status: EtcdClusterStatus, view: View, goesOn: boolean): Promise<void>;
  /** The status that users see now, where a platform keeps one: a new controller goes on from it. */
  lastStatus?(): EtcdClusterStatus | undefined;
  /** What of the status only the platform knows. */
  describe(view: View): Promise<Omit<GivenStatus, "plan" | "problems" | "failure">>;
  /** What members trust and show on planes whose CA is being rotated, by name. */
  lookAtTrust?(
    members: readonly PlatformMember[],
  ): Promise<ReadonlyMap<string, NonNullable<MemberFacts["trust"]>>>;
  /** How the controller reaches this member's clients' port. */
  endpoint(record: MemberRecord): Endpoint;
  /** Where this member's `/livez` and `/metrics` are; plain HTTP (R37). */
  metricsURL(record: MemberRecord): string;
  /** Where this member tells whether it is ready, by a read through quorum; absent where it is never asked for it. */
  readyURL?(record: MemberRecord): string;
  /** A peer URL that only this cluster can have made. */
  isOurs(peerURL: string): boolean;
  /** Whether no record stands for this entry of etcd's list: asked where records come from a cache. */
  isUnrecorded?(entry: EtcdMemberEntry): Promise<boolean>;
  /** The password in a Secret that the last `read` told of. It is given to etcd and to nobody else. */
  password?(secret: string): string | undefined;
  /** What to log in to etcd with, the likeliest first; none where our certificate says who we are. */
  logins?(): readonly Credentials[];
  /** A way to etcd as its user root, by a certificate of its own (R55); undefined where none can be issued. */
  actAsRoot?(): Promise<EtcdTransport | undefined>;
  readonly transport: EtcdTransport;
  readonly probe: EtcdProbe;
}

const OBJECT_ACTIONS: Readonly<Record<ObjectActionKind, true>> = {
  CreateMember: true,
  UpdateMember: true,
  DeleteMember: true,
  MarkCluster: true,
  StopWorkload: true,
  DeleteVolume: true,
  RescueData: true,
  FetchSnapshot: true,
  BindVolume: true,
  FinishDeletion: true,
  RotateAuthority: true,
  ReissueCertificates: true,
  CreateOperation: true,
  UpdateOperation: true,
  DeleteOperation: true,
  UpdateAuthObject: true,
};

export function isObjectAction(action: Action): action is ObjectAction {
  return Object.hasOwn(OBJECT_ACTIONS, action.kind);
}

/** A write met another state than it was decided on: nothing was done, look again (H10). */
export class Conflict extends Error {
  override name = "Conflict";
}
