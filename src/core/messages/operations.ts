/** Messages of operations: tasks that a person asked for once. */
import type { Plane } from "../facts/authority-facts.ts";
import { step, wait, type Names } from "./message.ts";
import { outOfService } from "./reading.ts";
import { dateTime, list, plural } from "./words.ts";

interface Named {
  readonly operation: string;
}
interface WithMember extends Named {
  readonly member: string;
}

interface ApprovedInstead {
  readonly is: "Snapshot" | "PointInTime";
  readonly name: string;
  readonly revision: number;
  readonly lost: number;
}

const NAMED: Named = { operation: "tidy-up" };
const WITH_MEMBER: WithMember = { operation: "tidy-up", member: "demo-2" };
const WITH_RECOVERY: WithMember = { operation: "demo-recover-1f0c2a", member: "demo-1" };

export const OPERATION_MESSAGES = {
  OperationStarted: step({
    say: ({ operation, task }: Named & { task: string }) => `starting operation ${operation} (${task})`,
    example: { ...NAMED, task: "defragment demo-2, demo-3, demo-1" },
  }),
  OperationNoted: step({
    say: ({ operation, done }: Named & { done: string }) => `operation ${operation}: ${done}`,
    example: { ...NAMED, done: "defragmented demo-2" },
  }),
  OperationFinished: step({
    say: ({ operation, outcome }: Named & { outcome: string }) => `operation ${operation} ended: ${outcome}`,
    example: { ...NAMED, outcome: "defragmented 3 members" },
  }),
  OperationRejected: step({
    say: ({ operation, why }: Named & { why: string }) => `rejecting operation ${operation}: ${why}`,
    example: { ...NAMED, why: "demo-9 is not a member of this cluster" },
  }),
  OperationExpired: step({
    say: ({ operation }: Named) => `deleting operation ${operation}: its ttlSecondsAfterFinished has passed`,
    example: NAMED,
  }),
  OperationDefragments: step({
    say: ({ operation, member }: WithMember) => `defragmenting ${member} for operation ${operation}`,
    example: WITH_MEMBER,
  }),
  OperationCompacts: step({
    say: ({ operation, revision }: Named & { revision: number }) =>
      `compacting up to revision ${revision} for operation ${operation}`,
    example: { ...NAMED, revision: 1200 },
  }),
  OperationMovesLeader: step({
    say: ({ operation, member }: WithMember) =>
      `transferring leadership to ${member} for operation ${operation}`,
    example: WITH_MEMBER,
  }),
  OperationReplaces: step({
    say: ({ operation, member }: WithMember) => `replacing ${member} for operation ${operation}`,
    example: WITH_MEMBER,
  }),
  OperationRestarts: step({
    say: ({ operation, member }: WithMember) => `restarting ${member} for operation ${operation}`,
    example: WITH_MEMBER,
  }),
  RecoveryApproved: step({
    say: ({ operation, member, lost }: WithMember & { lost: number }) =>
      `approving the recovery from the data of ${member} by operation ${operation}, because spec.recovery.quorumLoss is Automatic, the data of all other members is proven to be gone or older, and at most ${lost} of the revisions that were seen would be lost`,
    example: { operation: "demo-auto-51f0a3c2d4e5b697-1", member: "demo-1", lost: 0 },
  }),
  RestoreApproved: step({
    say: ({ operation, is, name, revision, lost }: Named & ApprovedInstead) =>
      `approving the restore of ${is === "Snapshot" ? `EtcdSnapshot ${name}` : `what EtcdSnapshotSchedule ${name} has recorded`}, with revision ${revision}, by operation ${operation}, because spec.recovery asks for Automatic and prefers it, the data of the lost members is proven to be gone, and at most ${lost} of the revisions that were seen would be lost`,
    example: {
      operation: "demo-auto-51f0a3c2d4e5b697-1",
      is: "Snapshot",
      name: "nightly-29875830",
      revision: 2641,
      lost: 0,
    },
  }),
  RecoveryStops: step({
    say: ({ operation, member }: Named & { member?: string }) =>
      `stopping all members for operation ${operation}, which recovers ${member === undefined ? "what they hold" : `the data of ${member}`}`,
    example: WITH_RECOVERY,
  }),
  RecoveryAwaitsStop: wait("OperationRunning", {
    say: ({ operation, members }: Named & { members: Names }) =>
      `operation ${operation} waits for ${list(members)} to stop`,
    example: { operation: WITH_RECOVERY.operation, members: ["demo-2"] },
  }),
  RecoveryAwaitsNode: wait("OperationRunning", {
    say: ({ operation, members, nodes }: Named & { members: Names; nodes: Names }) =>
      `operation ${operation} waits for ${list(members)} to stop, and ${list(nodes)} ${plural(nodes, "does", "do")} not answer`,
    next: ({ nodes }) =>
      `If ${list(nodes)} ${plural(nodes, "is", "are")} switched off, mark ${plural(nodes, "it", "them")} out of service: ${outOfService(nodes)}, or delete the ${plural(nodes, "Node", "Nodes")}. Or delete the EtcdOperation, and name ${plural(nodes, "it", "them")} in nodesOff of another one. Never do that while a member may still run there.`,
    example: { operation: WITH_RECOVERY.operation, members: ["demo-2"], nodes: ["node-b"] },
  }),
  RecoveryReads: wait("OperationRunning", {
    say: ({ operation, members, why }: Named & { members: Names; why: string | undefined }) =>
      `operation ${operation} reads what the ${plural(members, "volume", "volumes")} of ${list(members)} ${plural(members, "holds", "hold")}${why === undefined ? "" : `: ${why}`}`,
    volatile: ["why"],
    example: {
      operation: WITH_RECOVERY.operation,
      members: ["demo-1", "demo-2"],
      why: "the Pod demo-1-inspect-2c01 is being started",
    },
  }),
  RecoveryRescues: step({
    say: ({ operation, member }: WithMember) =>
      `making a snapshot of everything that the log of ${member} holds, for operation ${operation}; its data directory is only read`,
    example: WITH_RECOVERY,
  }),
  RecoveryAwaitsRescue: wait("OperationRunning", {
    say: ({ operation, why }: Named & { why: string | undefined }) =>
      `operation ${operation} makes a snapshot of what the log of the survivor holds${why === undefined ? "" : `: ${why}`}`,
    volatile: ["why"],
    example: { operation: WITH_RECOVERY.operation, why: "etcd starts from a copy of its data" },
  }),
  RecoveryAwaitsRescuer: wait("OperationRunning", {
    say: ({ operation, node }: Named & { node: string }) =>
      `operation ${operation} makes a snapshot of what the log of the survivor holds, and ${node}, where it does that, does not answer`,
    next: ({ node }) =>
      `Bring ${node} back within 10 minutes, or the operation fails and can be approved again. If it is switched off, run ${outOfService([node])}: the operator then tries again.`,
    example: { operation: WITH_RECOVERY.operation, node: "node-b" },
  }),
  RecoveryAwaitsPlace: wait("OperationRunning", {
    say: ({ operation, why }: Named & { why: string }) =>
      `operation ${operation} has its snapshot, and keeps the former members until the first new member can be created: ${why}`,
    next: () =>
      "Allow its claim and its Pod (quota, admission policy, storage class), or delete the EtcdOperation: then the former members are started again.",
    volatile: ["why"],
    example: { operation: WITH_RECOVERY.operation, why: "exceeded quota: requests.storage" },
  }),
  RecoveryBegins: step({
    say: ({ operation, member, members, revision }: WithMember & { members: string; revision: number }) =>
      `operation ${operation} bootstraps the cluster from the data of ${member} (revision ${revision}); the volumes of ${members} are kept`,
    example: { ...WITH_RECOVERY, members: "demo-1, demo-2, demo-3", revision: 48211 },
  }),
  RecoveryRebuilds: wait("OperationRunning", {
    say: ({ operation }: Named) => `operation ${operation} waits for the other members to be rebuilt`,
    example: NAMED,
  }),
  RestoreFetches: step({
    say: ({ operation, source }: Named & { source: string }) =>
      `fetching and checking ${source} for operation ${operation}; no member is stopped until the snapshot is verified`,
    example: { operation: "demo-restore-1f0c2a", source: "s3://backups/prod/demo.db" },
  }),
  RestoreAwaitsFetch: wait("OperationRunning", {
    say: ({ operation, why }: Named & { why: string | undefined }) =>
      `operation ${operation} fetches and checks its snapshot while the members serve${why === undefined ? "" : `: ${why}`}`,
    volatile: ["why"],
    example: { operation: "demo-restore-1f0c2a", why: "Pod demo-51f0a3c2d4e5b697-1-fetch is being started" },
  }),
  RestoreAwaitsPoint: wait("OperationRunning", {
    say: ({ operation, snapshot, why }: Named & { snapshot: string; why: string | undefined }) =>
      `operation ${operation} awaits the snapshot of its point in time while the members serve: EtcdSnapshot ${snapshot}${why === undefined ? "" : `: ${why}`}`,
    volatile: ["why"],
    example: {
      operation: "demo-restore-1f0c2a",
      snapshot: "demo-point-51f0a3c2d4e5b697",
      why: "Pod demo-point-1f-save is taking the snapshot",
    },
  }),
  RestoreStops: step({
    say: ({ operation }: Named) =>
      `stopping all members for operation ${operation}, which restores a snapshot`,
    example: { operation: "demo-restore-1f0c2a" },
  }),
  RestoreAwaitsStop: wait("OperationRunning", {
    say: ({ operation, members }: Named & { members: Names }) =>
      `operation ${operation} waits for ${list(members)} to stop`,
    example: { operation: "demo-restore-1f0c2a", members: ["demo-2"] },
  }),
  RestoreBegins: step({
    say: ({ operation, source, members }: Named & { source: string; members: string }) =>
      `operation ${operation} bootstraps the cluster from ${source}; the volumes of ${members} are kept`,
    example: {
      operation: "demo-restore-1f0c2a",
      source: "s3://backups/prod/demo.db",
      members: "demo-1, demo-2, demo-3",
    },
  }),
  OperationRotates: step({
    say: ({ operation, plane }: Named & { plane: Plane }) =>
      `creating the successor of the ${plane} CA for operation ${operation}`,
    example: { ...NAMED, plane: "client" },
  }),
  OperationRotatesKey: step({
    say: ({ operation, number }: Named & { number: number }) =>
      `replacing the key of auth tokens for operation ${operation}: members restart with key ${number}, one at a time`,
    example: { ...NAMED, number: 2 },
  }),
  OperationReissues: step({
    say: ({ operation, member }: Named & { member?: string }) =>
      `reissuing the certificates of ${member ?? "the operator and of the users"} for operation ${operation}`,
    example: WITH_MEMBER,
  }),
  OperationUnderWay: wait("OperationRunning", {
    say: ({ operation }: Named) => `operation ${operation} is running; rollouts and maintenance wait for it`,
    example: NAMED,
  }),
  OperationAwaitsMembers: wait("OperationRunning", {
    say: ({ operation, members }: Named & { members: Names }) =>
      `operation ${operation} waits for ${list(members)} to be healthy`,
    example: { ...NAMED, members: ["demo-3"] },
  }),
  OperationAwaitsRestart: wait("OperationRunning", {
    say: ({ operation, member }: WithMember) =>
      `operation ${operation} waits for ${member} to be healthy after its restart`,
    example: WITH_MEMBER,
  }),
  OperationAwaitsReplacement: wait("OperationRunning", {
    say: ({ operation, member }: WithMember) =>
      `operation ${operation} waits for ${member} to be replaced by a new member`,
    example: WITH_MEMBER,
  }),
  OperationAwaitsRotation: wait("RotatingCA", {
    say: ({ operation, planes }: Named & { planes: readonly Plane[] }) =>
      `operation ${operation} waits for the rotation of the ${planes.join(" and the ")} CA`,
    example: { ...NAMED, planes: ["client", "peer"] },
  }),
  OperationAwaitsKey: wait("RotatingTokenKey", {
    say: ({ operation, members }: Named & { members: Names }) =>
      `operation ${operation} waits for ${list(members)} to restart with the new key of auth tokens`,
    example: { ...NAMED, members: ["demo-2", "demo-3"] },
  }),
  OperationExpires: wait("OperationFinished", {
    say: ({ operation, at }: Named & { at: number }) =>
      `operation ${operation} has finished and will be deleted at ${dateTime(at)}`,
    volatile: ["at"],
    example: { ...NAMED, at: Date.UTC(2026, 0, 2, 2, 30) },
  }),
  OperationUnrecorded: wait("OperationUnrecorded", {
    say: ({ operation, error, at }: Named & { error: string; at: number }) =>
      `operation ${operation} is not carried out, since its status cannot be written (${error}); the next try is at ${dateTime(at)}`,
    volatile: ["at"],
    example: {
      ...NAMED,
      error: "etcdoperations.etcd.quorate.dev is forbidden",
      at: Date.UTC(2026, 0, 2, 2, 30),
    },
  }),
} as const;
