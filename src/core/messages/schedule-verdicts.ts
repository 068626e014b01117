/** What is reported of EtcdSnapshotSchedules and of the changes that they record, each with its reason. */
import type { FollowerReason } from "./follower-reasons.ts";
import type { ScheduleReason } from "./schedule-reasons.ts";
import { sayWorker, type Worker } from "./snapshot-verdicts.ts";
import { rowsFor, verdictsOf } from "./verdict.ts";

interface OfCluster {
  readonly cluster: string;
}
interface Because {
  readonly why: string;
}

const row = rowsFor<ScheduleReason>();
const CLUSTER: OfCluster = { cluster: "demo" };
const AT = "2026-11-16T13:00:00Z";

export const SCHEDULE_VERDICTS = {
  Suspended: row("Suspended", { say: () => "suspended: no snapshots are taken", example: {} }),
  ClusterNotFound: row("ClusterNotFound", {
    say: ({ cluster }: OfCluster) =>
      `EtcdCluster ${cluster} does not exist; snapshots are taken once it does`,
    example: CLUSTER,
  }),
  SnapshotRefused: row("SnapshotRefused", {
    say: ({ snapshot, why }: Because & { snapshot: string }) =>
      `${snapshot} cannot be created: ${why}; the operator tries again`,
    example: { snapshot: "nightly-29875830", why: "exceeded quota: etcdsnapshots" },
  }),
  LeftOut: row("Missed", {
    say: ({ at }: { at: string }) => `the snapshot of ${at} was left out: it could not be started in time`,
    example: { at: AT },
  }),
  Created: row("Scheduled", {
    say: ({ snapshot }: { snapshot: string | undefined }) => `${snapshot} was created`,
    example: { snapshot: "nightly-29875830" },
  }),
  Taking: row("Scheduled", {
    say: ({ snapshot }: { snapshot: string }) => `taking ${snapshot}`,
    example: { snapshot: "nightly-29875830" },
  }),
  NextIsDue: row("Scheduled", {
    say: ({ at }: { at: string }) => `the next snapshot is due at ${at}`,
    example: { at: AT },
  }),
} as const;

export const scheduleVerdict = verdictsOf(SCHEDULE_VERDICTS);

/** A field of a schedule that says nothing that can be followed. */
export const INVALID_FIELDS = {
  zone: (zone: string) => `spec.timeZone: ${zone} is not a time zone that this operator knows`,
  cron: (field: string, error: string) => `${field}: ${error}`,
} as const;

const following = rowsFor<FollowerReason>();
const FOLLOWER: Worker = { by: undefined, name: "nightly-follow-1" };

/** What the follower lacks to go on from where the recorded changes end. */
const LACKS = {
  none: "there is no snapshot to begin with",
  auth: "users or roles changed, or authentication was switched",
  compacted: "etcd compacted changes before they were received",
  gap: "etcd did not send all changes",
  damaged: "the last changes in the store are damaged",
} as const;

interface OfFollower {
  readonly follower: Worker;
}

export const FOLLOWER_VERDICTS = {
  ScheduleInvalid: following("NotFollowing", {
    say: () => "the schedule is invalid; its message says why",
    example: {},
  }),
  RecordingSuspended: following("NotFollowing", {
    say: () => "suspended: no changes are recorded",
    example: {},
  }),
  NoCluster: following("NotFollowing", {
    say: ({ cluster }: OfCluster) => `EtcdCluster ${cluster} does not exist`,
    example: CLUSTER,
  }),
  ClusterLeaves: following("NotFollowing", {
    say: ({ cluster }: OfCluster) => `EtcdCluster ${cluster} is being deleted`,
    example: CLUSTER,
  }),
  ClusterSleeps: following("NotFollowing", {
    say: ({ cluster }: OfCluster) => `EtcdCluster ${cluster} is hibernated`,
    example: CLUSTER,
  }),
  ClusterInvalid: following("NotFollowing", {
    say: ({ why }: Because) => `the EtcdCluster is invalid (${why})`,
    example: { why: "spec.version: 3.4.0 is not supported" },
  }),
  FollowerBlocked: following("NotFollowing", {
    say: ({ why }: Because) => why,
    example: { why: "the client certificate has not been issued yet" },
  }),
  NoEndpoint: following("NotFollowing", {
    say: () => "no member has joined the cluster yet",
    example: {},
  }),
  FormerStops: following("Starting", {
    say: () => "the follower is replaced; waiting for the former one to stop",
    example: {},
  }),
  FollowerEnded: following("FollowerFailed", {
    say: ({ why, at }: Because & { at: string }) => `${why}; the next one is created at ${at}`,
    example: { why: "Pod nightly-follow-1 ended with exit code 1", at: AT },
  }),
  FollowerBegins: following("Starting", {
    say: ({ follower }: OfFollower) => `creating ${sayWorker(follower)}`,
    example: { follower: FOLLOWER },
  }),
  FollowerRefused: following("FollowerRefused", {
    say: ({ follower, why }: OfFollower & Because) =>
      `${sayWorker(follower)} cannot be created: ${why}; it is tried again`,
    example: { follower: FOLLOWER, why: "exceeded quota: pods" },
  }),
  FollowerStarts: following("Starting", {
    say: ({ follower }: OfFollower) => `${sayWorker(follower)} is being started`,
    example: { follower: FOLLOWER },
  }),
  FollowerWaits: following("FollowerFailed", {
    say: ({ why }: Because) => why,
    example: { why: "the Pod cannot be scheduled" },
  }),
  BaseAwaited: following("AwaitingBase", {
    say: ({ needs }: { needs: keyof typeof LACKS }) => `${LACKS[needs]}; a snapshot is taken to begin with`,
    example: { needs: "compacted" },
  }),
  FollowerSilent: following("Behind", {
    say: ({ follower }: OfFollower) => saySilent(follower),
    example: { follower: FOLLOWER },
  }),
  NothingRecorded: following("Behind", {
    say: ({
      follower,
      since,
      answers,
      problem,
    }: OfFollower & {
      since: string;
      answers: boolean;
      problem: string | undefined;
    }) =>
      `no changes were recorded since ${since}: ${answers ? (problem ?? `${sayWorker(follower)} is behind`) : saySilent(follower)}`,
    example: { follower: FOLLOWER, since: AT, answers: true, problem: "the store does not answer" },
  }),
  FollowerRecords: following("Following", {
    say: ({ follower }: OfFollower) => `${sayWorker(follower)} records changes`,
    example: { follower: FOLLOWER },
  }),
} as const;

export const followerVerdict = verdictsOf(FOLLOWER_VERDICTS);

/** A process of this machine is asked by its own file. */
function saySilent(follower: Worker): string {
  const how = follower.by === "process" ? "" : "; the operator has to be able to ask it at port 2381";
  return `${sayWorker(follower)} does not report its progress${how}`;
}
