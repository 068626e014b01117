/** How recoveries and restores in place are rejected and end, each with its reason. */
import type { Names } from "./message.ts";
import type { OperationReason } from "./operation-reasons.ts";
import { outOfService } from "./reading.ts";
import { rowsFor, type Verdict } from "./verdict.ts";
import { list, mebibytes, plural } from "./words.ts";

interface Because {
  readonly why: string;
}
interface OfNodes {
  readonly nodes: Names;
}
interface Late {
  readonly minutes: number;
}

const row = rowsFor<OperationReason>();

export const RECOVERY_ENDINGS = {
  QuorumThere: row("QuorumNotLost", {
    say: () => "the cluster has quorum, so there is nothing to recover",
    example: {},
  }),
  QuorumReturned: row("PlanChanged", {
    say: () => "quorum has returned, so nothing was recovered and no data was changed",
    example: {},
  }),
  Rebuilt: row("Completed", {
    say: ({ done }: { done: string }) => `${done}; the other members were rebuilt`,
    example: { done: "recovered from the data of demo-1, which reached revision 48211" },
  }),
  QuorumLostMeanwhile: row("QuorumRecovered", {
    say: ({ operation, does }: { operation: string; does: "recover" | "restore" }) =>
      `quorum was lost while it ran, and operation ${operation} ${does === "recover" ? "recovers the cluster" : "restores a snapshot"}`,
    example: { operation: "demo-recover-1f0c2a", does: "recover" },
  }),
  RecoveryFailedOften: row("StepFailed", {
    say: ({ times, why }: { times: number; why: string | undefined }) =>
      `failed ${times} times in a row, and no data was changed: ${why}`,
    example: { times: 3, why: "etcd did not start from the copy" },
  }),
  RescueStranded: row("StepFailed", {
    say: ({ node }: { node: string | undefined }) =>
      `${node ?? "its node"}, where a snapshot of the survivor's data was being made, does not answer; no data was changed. Bring it back, or, if it is switched off, run ${outOfService([node ?? "its node"])}; then approve the current plan`,
    example: { node: "node-b" },
  }),
  RecoveryRefused: row("RecoveryNotSupported", {
    say: ({ why }: Because) => why,
    example: { why: "members whose data is in memory have none left to recover from" },
  }),
  RecoveryVersionDiffers: row("VersionDiffers", {
    say: ({ why }: Because) => why,
    example: {
      why: "the data of demo-1 was written by etcd 3.5.21: set spec.version to that minor version first, and upgrade after the recovery",
    },
  }),
  RecoveryPlanChanged: row("PlanChanged", {
    say: ({ approved, present }: { approved: string; present: string }) =>
      `the approved plan is ${approved}, and the present one is ${present}: review it, and approve that`,
    example: { approved: "1f0c2a77", present: "51f0a3c2" },
  }),
  NodesNotNamed: row("NodesDiffer", {
    say: ({ nodes }: OfNodes) =>
      `a member may still run on ${list(nodes)}, which ${plural(nodes, "does", "do")} not report: if you have made sure that ${plural(nodes, "it is", "they are")} off, name ${plural(nodes, "it", "them")} in nodesOff; otherwise bring ${plural(nodes, "it", "them")} back`,
    example: { nodes: ["node-b"] },
  }),
  NodesNotAsked: row("NodesDiffer", {
    say: ({ nodes }: OfNodes) =>
      `nodesOff names ${list(nodes)}, which ${plural(nodes, "does", "do")} not have to be off: ${plural(nodes, "it reports", "they report")}, ${plural(nodes, "has", "have")} not been silent for 5 minutes, or no member is known to run there`,
    example: { nodes: ["node-c"] },
  }),
  NodesReport: row("NodeReports", {
    say: ({ nodes }: OfNodes) =>
      `${list(nodes)} ${plural(nodes, "was", "were")} said to be off in the approval, but ${plural(nodes, "its kubelet or a member there reports, or has reported since", "their kubelets or members there report, or have reported since")}, so no data was changed: a member may run there, and quorum may return`,
    example: { nodes: ["node-b"] },
  }),
  NoDataLeft: row("PlanChanged", {
    say: () => "no member has data left to recover from: restore a snapshot into a new cluster instead",
    example: {},
  }),
  QuorumOfData: row("QuorumNotLost", {
    say: () => "enough members still have their data for a quorum, so there is no plan to approve",
    example: {},
  }),
  FirstMemberRefused: row("StepFailed", {
    say: ({ minutes, why }: Late & Because) =>
      `after ${minutes} minutes the first new member cannot be created; no data was changed: ${why}`,
    example: { minutes: 30, why: "exceeded quota: requests.storage" },
  }),
  MembersNotStopped: row("StepFailed", {
    say: ({ minutes, members, nodes }: Late & { members: Names; nodes: Names }) =>
      `after ${minutes} minutes ${list(members)} did not stop${sayNodes(nodes)}; no data was changed`,
    example: { minutes: 30, members: ["demo-2"], nodes: ["node-b"] },
  }),
  DataNotRead: row("StepFailed", {
    say: ({ minutes, members, why }: Late & { members: Names; why: string | undefined }) =>
      `after ${minutes} minutes what ${list(members)} holds could not be read${because(why)}; no data was changed`,
    example: { minutes: 30, members: ["demo-2"], why: "the Pod demo-2-inspect-2c01 cannot be scheduled" },
  }),
  PointUnavailable: row("PointUnavailable", {
    say: ({ why }: Because) => `restore.pointInTime: ${why}`,
    example: { why: "the recorded changes begin at revision 2201" },
  }),
  PointNotBuilt: row("PointUnavailable", {
    say: ({ source }: { source: string }) => `${source} could not be built`,
    example: { source: "the recorded changes of nightly up to 2026-11-16 13:09:30 UTC" },
  }),
  SnapshotOnMachine: row("RestoreNotSupported", {
    say: () =>
      "restore.snapshot: on one machine, name the snapshot by restore.source; its place is in the status of the EtcdSnapshot",
    example: {},
  }),
  SnapshotNotFound: row("SnapshotNotFound", {
    say: ({ why }: { why: string | undefined }) => `restore.snapshot: ${why ?? "it is not known yet"}`,
    example: { why: "there is no EtcdSnapshot nightly-29875830" },
  }),
  PlaceNotSupported: row("RestoreNotSupported", {
    say: ({ why }: Because) => why,
    example: { why: "restore.source.file: a file on this machine cannot be read by Pods" },
  }),
  SnapshotAboveQuota: row("DatabaseTooLarge", {
    say: (sizes: { size: number; quota: number }) => sayAboveQuota(sizes),
    example: { size: 3 * 1024 ** 3, quota: 2 * 1024 ** 3 },
  }),
  SpecInvalid: row("SpecCannotRun", {
    say: ({ why }: Because) => `the spec of the cluster is invalid: ${why}`,
    example: { why: "spec.version: 3.4.0 is not supported" },
  }),
  VersionTooOld: row("VersionDiffers", {
    say: ({ version }: { version: string }) =>
      `etcd ${version} cannot raise the revision of a snapshot, which watchers need: set spec.version to 3.5.10 or later first`,
    example: { version: "3.5.9" },
  }),
  RestoredWouldNotStart: row("SpecCannotRun", {
    say: ({ why }: Because) => `the restored cluster would not start: ${why}`,
    example: { why: "etcd 3.5.21 has no option featureGates" },
  }),
  RestoreNotApproved: row("ApprovalNeeded", {
    say: ({
      cluster,
      source,
      approved,
      plan,
    }: {
      cluster: string;
      source: string;
      approved: string | undefined;
      plan: string;
    }) =>
      `all data of ${cluster} would be replaced by ${source}, and what was written since would be lost; ${approved === undefined ? "" : `${approved} approves another plan; `}to approve, create the operation again with approve: ${plan}`,
    example: {
      cluster: "demo",
      source: "s3://backups/prod/demo.db",
      approved: undefined,
      plan: "1f0c2a77",
    },
  }),
  InsteadOfAnother: row("PlanChanged", {
    say: ({ recovery, present }: { recovery: string; present: string | undefined }) =>
      `restore.recovery is the plan of a recovery ${recovery}, and ${present === undefined ? "there is none now" : `the present one is ${present}`}: look at status.recovery again`,
    example: { recovery: "1f0c2a77", present: "51f0a3c2" },
  }),
  RestoreFailedOften: row("StepFailed", {
    say: ({ times }: { times: number }) => `failed ${times === 1 ? "once" : `${times} times in a row`}`,
    example: { times: 3 },
  }),
  RestorePlanChanged: row("PlanChanged", {
    say: ({ plan }: { plan: string }) =>
      `the cluster, its spec.version or the snapshot is not what was approved any more: the plan is ${plan} now`,
    example: { plan: "51f0a3c2" },
  }),
  SourceUnknown: row("PlanChanged", {
    say: ({ why }: Because) => why,
    example: { why: "restore.snapshot: there is no EtcdSnapshot nightly-29875830" },
  }),
  NotFetchedInTime: row("StepFailed", {
    say: ({ source, minutes }: Late & { source: string }) =>
      `${source} was not fetched within ${minutes} minutes, while no member served`,
    example: { source: "s3://backups/prod/demo.db", minutes: 10 },
  }),
  StopTakesTooLong: row("StepFailed", {
    say: ({ members, minutes }: Late & { members: Names }) =>
      `${list(members)} did not stop within ${minutes} minutes`,
    example: { members: ["demo-2"], minutes: 30 },
  }),
} as const;

function because(why: string | undefined): string {
  return why === undefined ? "" : `: ${why}`;
}

function sayNodes(nodes: Names): string {
  return nodes.length === 0
    ? ""
    : `: if ${list(nodes)} ${plural(nodes, "is", "are")} switched off, run ${outOfService(nodes)} or delete the Node, or name ${plural(nodes, "it", "them")} in nodesOff of another approval`;
}

export function sayAboveQuota({ size, quota }: { readonly size: number; readonly quota: number }): string {
  return `the snapshot has ${mebibytes(size)}, and the quota of the cluster is ${mebibytes(quota)}: raise spec.options.quotaBackendBytes first`;
}

/** The end of an operation that had only been preparing: the members keep their data. */
export function withoutChange<Reason extends string>(end: Verdict<Reason>, why?: string): Verdict<Reason> {
  const { reason, code, params } = end;
  return {
    reason,
    code,
    params,
    get message() {
      return `${end.message}, and no data was changed${because(why)}`;
    },
  };
}

/** Why members that were told to stop may run for ever, and how a person ends that. */
export const TAINT_OR_DELETE =
  "if the node is off, add the taint node.kubernetes.io/out-of-service to it, delete the Node, or name it in nodesOff of another approval";
