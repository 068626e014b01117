/**
 * Where clusters are: a Kubernetes API server, or directories on this machine. Verbs are written against this
 * interface and so say and do the same on both. Failures are `CommandError`s that say what to do next.
 */
import type { EtcdCluster } from "../../api/etcd-cluster.ts";
import type { EtcdMember } from "../../api/etcd-member.ts";
import type { EtcdSnapshot } from "../../api/etcd-snapshot.ts";
import type { EtcdSnapshotSchedule } from "../../api/etcd-snapshot-schedule.ts";
import type { Outline } from "../../core/plan/outline.ts";
import type { Explanation } from "../../core/status/why.ts";
import type { KubeObject } from "../../kube/resources.ts";

/** As the API server gives it: an EtcdCluster whose status may be missing, and whose fields nobody checked yet. */
export type ClusterObject = EtcdCluster;

export interface ClusterEvent {
  /** Milliseconds since the epoch, of the latest occurrence. */
  readonly at: number;
  readonly type: "Normal" | "Warning";
  readonly reason: string;
  /** `EtcdMember/demo-3`. */
  readonly object: string;
  readonly message: string;
  readonly count: number;
}

/** An EtcdOperation, as generic as the API server gives it. */
export interface OperationObject extends KubeObject {
  readonly spec: Readonly<Record<string, unknown>> & { readonly cluster: string };
  readonly status?: {
    readonly phase?: string;
    readonly reason?: string;
    readonly message?: string;
    readonly startedAt?: string;
    readonly completedAt?: string;
    readonly steps?: readonly { readonly at: string; readonly message: string }[];
    readonly report?: string;
  };
}

/** A merge patch; `null` removes a field. */
export interface ClusterPatch {
  readonly spec?: Readonly<Record<string, unknown>>;
  readonly annotations?: Readonly<Record<string, string | null>>;
}

/** What would be changed, for `plan`: a whole manifest, or fields of the present spec. */
export type PlannedChange =
  | { readonly manifest: unknown }
  | { readonly replicas?: number; readonly version?: string };

export interface PlanOf extends Outline {
  /** What the plan had to take for granted because the target cannot see it. */
  readonly assumes?: readonly string[];
}

/** The image where that does not name a version. */
export type OperatorVersion = { readonly version: string } | { readonly image: string };

export interface LogWishes {
  readonly members: readonly string[];
  readonly sinceMs?: number;
  /** The last lines of each member; all when absent. */
  readonly lines?: number;
  readonly follow: boolean;
  /** With `follow`: the members now. Those that join later are followed too, from their first line on. */
  readonly membersNow?: () => Promise<readonly string[]>;
  /** Of the container before its last restart; Kubernetes only. */
  readonly previous?: boolean;
}

export interface LogLine {
  readonly member: string;
  /** Milliseconds since the epoch, as the platform or the line itself says; undefined where neither does. */
  readonly at: number | undefined;
  readonly text: string;
}

export interface Applied {
  readonly cluster: ClusterObject;
  readonly done: "created" | "configured" | "unchanged";
  readonly warnings: readonly string[];
}

/** The target from when it is followed: it answers with what it knows, and learns of changes by itself. */
export interface Following {
  /** Resolves when something has changed since the last call, or after so long; rejects when the user leaves. */
  changed(withinMs: number): Promise<void>;
  /** Why what is shown may be old, as a sentence. */
  readonly trouble: string | undefined;
}

export interface Target {
  readonly kind: "kubernetes" | "local";
  /** The program as the user called it, for hints. */
  readonly command: string;
  /** In sentences: `in namespace prod`, `on this machine`. */
  readonly where: string;
  /** The namespace that is asked; undefined when all are. */
  readonly namespace: string | undefined;
  /** Flags that lead here again, for hints: ` -n prod`, ` --local --name dev`. */
  readonly flags: string;

  clusters(): Promise<readonly ClusterObject[]>;
  /** With its status as of now. A name that does not exist is answered with the nearest that does. */
  cluster(name: string): Promise<ClusterObject>;
  members(cluster: ClusterObject): Promise<readonly EtcdMember[]>;
  /** Oldest first; of one cluster with its members and operations, or of all. */
  events(cluster?: ClusterObject): Promise<readonly ClusterEvent[]>;

  /** What the target knows about the cluster beyond its objects, in sentences for the end of a screen. */
  remarks(cluster: ClusterObject): Promise<readonly string[]>;
  /** What it does or waits for. */
  why(cluster: ClusterObject): Promise<Explanation>;

  /** What a change, or what is left of the present one, would do. Undefined for a cluster that does not exist yet. */
  plan(cluster: ClusterObject | undefined, change?: PlannedChange): Promise<PlanOf>;
  /** In order of time; with `follow`, then as they come until `signal` aborts. */
  logs(cluster: ClusterObject, wishes: LogWishes, signal: AbortSignal): AsyncIterable<LogLine>;
  /** The version of the operator that looks after clusters here; undefined where it cannot be told. */
  operatorVersion(): Promise<OperatorVersion | undefined>;

  /** By time of creation; empty where the resource is not installed. */
  operations(cluster?: ClusterObject): Promise<readonly OperationObject[]>;
  createOperation(operation: OperationObject): Promise<OperationObject>;
  deleteOperation(operation: OperationObject): Promise<void>;

  /** An EtcdSnapshot beside a cluster. */
  snapshot(name: string, cluster: ClusterObject): Promise<EtcdSnapshot | undefined>;
  /** An EtcdSnapshotSchedule beside a cluster. */
  schedule(name: string, cluster: ClusterObject): Promise<EtcdSnapshotSchedule | undefined>;

  /** Only in the state in which `cluster` was read: otherwise a conflict, and nothing is written. */
  patchCluster(cluster: ClusterObject, patch: ClusterPatch): Promise<ClusterObject>;
  /** The same for the annotations of a member's record; its spec belongs to the operator. */
  patchMember(member: EtcdMember, patch: Pick<ClusterPatch, "annotations">): Promise<EtcdMember>;
  /** Asks for the member to be replaced. */
  deleteMember(member: EtcdMember): Promise<void>;
  /**
   * A new cluster, or the present one with another spec; checked in full before anything is written. `seen` is what the
   * change was decided on: with another spec there by now it is a conflict, and nothing is written.
   */
  applyCluster(manifest: unknown, seen: ClusterObject | undefined): Promise<Applied>;

  /** For `--watch`; absent where looking again is cheap. */
  follow?(): Following;

  close(): Promise<void>;
}
