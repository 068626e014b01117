/** Messages of rolling out what the spec asks for, and of taking it back. */
import { givenBy, onKubernetes, type Approvable } from "./approvals.ts";
import { step, wait, type Names } from "./message.ts";
import { sayTrouble, type Trouble } from "./trouble.ts";
import { TAKE_BACK } from "./healing.ts";
import { howToApprove, type Approval } from "./unreachable.ts";
import { list } from "./words.ts";

/** What differs between two templates: the version, or parts of the spec. */
export type TemplateChange =
  | { readonly from: string; readonly to: string }
  | { readonly parts: readonly string[] };

export function sayChange(change: TemplateChange): string {
  return "parts" in change
    ? `new ${change.parts.join(", ") || "template"}`
    : `version ${change.from} → ${change.to}`;
}

const CHANGE: TemplateChange = { from: "3.5.35", to: "3.6.16" };
const NO_IMAGE: Trouble = { kind: "waiting", why: "ErrImagePull" };

function withoutIt(approval: Approvable): string {
  return `To move members without a snapshot, ${givenBy(approval)}, or set spec.update.snapshotBefore to false.`;
}

/** Why the snapshot before an upgrade is not there, where its own status does not say it. */
export const SNAPSHOTS_BEFORE = {
  notCreated: (why: string) => `it cannot be created: ${why}`,
  unknown: "unknown",
} as const;

export const ROLLOUTS = {
  RolloutAwaitsMembers: wait("MemberUnhealthy", {
    say: ({ members }: { members: Names }) => `the rollout waits for ${list(members)} to be healthy`,
    example: { members: ["demo-2"] },
  }),
  RolloutAwaitsUnreachable: wait("MemberUnreachable", {
    say: ({ members }: { members: Names }) =>
      `the rollout waits until the operator can reach ${list(members)}`,
    example: { members: ["demo-2"] },
  }),
  FailedTargetForgotten: step({ say: () => "the spec changed since the rollout that failed", example: {} }),
  OtherVersionRuns: wait("VersionMismatch", {
    say: ({ member, runs, wanted }: { member: string; runs: string; wanted: string }) =>
      `spec.image: ${member} runs etcd ${runs} instead of ${wanted}`,
    next: () =>
      "Correct spec.image.digest or spec.image.repository, or set spec.version to the version that the image contains.",
    example: { member: "demo-3", runs: "3.6.15", wanted: "3.6.16" },
  }),
  RolledBack: wait("TargetFailed", {
    say: ({ member, why }: { member: string; why: string }) =>
      `${member} could not run what the spec asks for and was rolled back: ${why}`,
    next: () => "Correct the spec; the same edit is not tried again.",
    example: { member: "demo-3", why: "ErrImagePull" },
  }),
  ApprovalAwaited: wait("AwaitingApproval", {
    say: ({ approval }: { approval: Approvable }) =>
      `a rollout is ready and waits for approval ${approval.word}`,
    next: ({ approval }) => `Approve it: ${givenBy(approval)}.`,
    approval: ({ approval }) => approval,
    example: { approval: onKubernetes("1f0c2a9b") },
  }),
  SnapshotBeforeAwaited: wait("AwaitingSnapshot", {
    say: ({ to, snapshot }: { to: string; snapshot: string }) =>
      `the rollout of etcd ${to} waits for the snapshot ${snapshot} to be taken`,
    example: { to: "3.6.16", snapshot: "demo-before-3-6-498345" },
  }),
  SnapshotBeforeStuck: wait("AwaitingSnapshot", {
    say: ({ to, snapshot, why }: { to: string; snapshot: string; why: string; approval: Approvable }) =>
      `the rollout of etcd ${to} waits for the snapshot ${snapshot}, which has not started: ${why}`,
    next: ({ approval }) => `Resolve what the snapshot waits for. ${withoutIt(approval)}`,
    approval: ({ approval }) => approval,
    example: {
      to: "3.6.16",
      snapshot: "demo-before-3-6-498345",
      why: "no voting member of the cluster answers; waiting for one",
      approval: onKubernetes("without-snapshot-3.6"),
    },
  }),
  SnapshotBeforeFailed: wait("SnapshotBeforeFailed", {
    say: ({ to, snapshot, why }: { to: string; snapshot: string; why: string; approval: Approvable }) =>
      `the rollout of etcd ${to} waits, because the snapshot before it (${snapshot}) failed: ${why}`,
    next: ({ approval }) =>
      `Resolve what the EtcdSnapshot says and delete it, and another one is taken. ${withoutIt(approval)}`,
    approval: ({ approval }) => approval,
    example: {
      to: "3.6.16",
      snapshot: "demo-before-3-6-498345",
      why: "The bucket refused the credentials",
      approval: onKubernetes("without-snapshot-3.6"),
    },
  }),
  SnapshotBeforeUnreadable: wait("AwaitingSnapshot", {
    say: ({ to, schedule, why }: { to: string; schedule: string; why: string; approval: Approvable }) =>
      `the rollout of etcd ${to} waits, because the snapshot before it cannot be taken: EtcdSnapshotSchedule ${schedule} cannot be used: ${why}`,
    next: ({ approval }) => `Correct the EtcdSnapshotSchedule, or delete it. ${withoutIt(approval)}`,
    approval: ({ approval }) => approval,
    example: {
      to: "3.6.16",
      schedule: "nightly",
      why: "this release does not understand the schedule (spec.destination.tape: unknown field); upgrade the operator, or correct it",
      approval: onKubernetes("without-snapshot-3.6"),
    },
  }),
  CanaryWatched: wait("MemberStarting", {
    say: ({ member }: { member: string }) => `${member} is the canary; waiting for it to stay healthy`,
    example: { member: "demo-3" },
  }),
  ComparedBeforeRollout: step({
    say: () => "comparing the data of all voters before members restart",
    example: {},
  }),
  VolumeCannotFollow: step({
    say: ({ member, change }: { member: string; change: TemplateChange }) =>
      `replacing ${member} by a new member: it cannot take this change on its volume (${sayChange(change)})`,
    example: { member: "demo-2", change: { parts: ["storage"] } },
  }),
  LeaderRollsLast: step({
    say: ({ member }: { member: string }) => `${member} leads and is next: moving leadership first`,
    example: { member: "demo-1" },
  }),
  MemberRolled: step({
    say: ({ member, change }: { member: string; change: TemplateChange }) =>
      `${member}: ${sayChange(change)}`,
    example: { member: "demo-3", change: CHANGE },
  }),
  ClusterVersionBehind: wait("ClusterVersionBehind", {
    say: ({ members, cluster }: { members: string; cluster: string }) =>
      `all members run ${members}; waiting for etcd to raise the cluster version from ${cluster}`,
    example: { members: "3.6", cluster: "3.5" },
  }),
  StorageVersionAhead: wait("DowngradePreparing", {
    say: ({ members, to }: { members: Names; to: string }) =>
      `etcd is migrating the storage of ${list(members)} down to ${to}`,
    example: { members: ["demo-1"], to: "3.5" },
  }),
  DowngradePreparing: wait("DowngradePreparing", {
    say: ({ to }: { to: string }) => `etcd is preparing the downgrade to ${to}`,
    example: { to: "3.5" },
  }),
  DowngradeEnabled: step({
    say: ({ to }: { to: string }) => `etcd has to prepare its storage for ${to} first`,
    example: { to: "3.5" },
  }),
  DowngradeCancelled: step({
    say: () => "the downgrade that etcd prepares is no longer wanted",
    example: {},
  }),
  OldLogRecorded: step({
    say: ({ minor }: { minor: string }) =>
      `the log contains requests of etcd ${minor}, which matters to later upgrades`,
    example: { minor: "3.4" },
  }),
  OldLogEnds: step({
    say: ({ minor }: { minor: string }) =>
      `all members have left etcd ${minor}: its requests end here in the log`,
    example: { minor: "3.4" },
  }),
  OldLogAdvanced: step({
    say: ({ minor }: { minor: string }) =>
      `every member needs a raft snapshot past the requests of etcd ${minor} in its log`,
    example: { minor: "3.4" },
  }),
  OldLogForgotten: step({
    say: ({ minor }: { minor: string }) => `no member can replay requests of etcd ${minor} any more`,
    example: { minor: "3.4" },
  }),
  OldMinorStillRuns: wait("ClusterVersionBehind", {
    say: ({ minor }: { minor: string }) => `waiting for all members to leave etcd ${minor}`,
    example: { minor: "3.4" },
  }),

  OtherVolumeAsked: step({
    say: ({ member }: { member: string }) =>
      `${member} has no volume yet, and the spec now asks for another one`,
    example: { member: "demo-4" },
  }),
  UnhealthyGivenTarget: step({
    say: ({ member }: { member: string }) =>
      `${member} is unhealthy, and the spec now asks for another template`,
    example: { member: "demo-3" },
  }),
  TargetFailedOnce: step({
    say: ({ member, trouble }: { member: string; trouble: Trouble }) =>
      `${member} cannot run what the spec asks for (${sayTrouble(trouble)})`,
    example: { member: "demo-3", trouble: NO_IMAGE },
  }),
  MemberRolledBack: step({
    say: ({ member }: { member: string }) => `rolling ${member} back to the template of the other members`,
    example: { member: "demo-3" },
  }),
  OnlyMemberGivenTarget: step({
    say: ({ member }: { member: string }) =>
      `${member} cannot run its template, and the spec now asks for another one`,
    example: { member: "demo-1" },
  }),
  NotHealthyWithTarget: wait("TargetFailed", {
    say: ({ member, trouble }: { member: string; trouble: Trouble }) =>
      `${member} does not become healthy with its new template (${sayTrouble(trouble)})`,
    next: () => TAKE_BACK,
    example: { member: "demo-3", trouble: NO_IMAGE },
  }),
  CannotRunTemplate: wait("TargetFailed", {
    say: ({ member, trouble }: { member: string; trouble: Trouble }) =>
      `${member} cannot run its template (${sayTrouble(trouble)})`,
    next: () => "Correct the spec, or revert the last change.",
    example: { member: "demo-1", trouble: NO_IMAGE },
  }),
  TrialAwaited: wait("MemberStarting", {
    say: ({ first, trouble, approval }: { first: string; trouble: Trouble; approval: Approval }) =>
      `${approval.member} gets the new template once ${first} is healthy with it (${sayTrouble(trouble)})`,
    next: ({ approval }) =>
      `Wait, or correct the spec; to restart ${approval.member} without waiting, ${howToApprove(approval)}.`,
    approval: ({ approval }) => approval.given,
    example: {
      first: "demo-1",
      trouble: { kind: "not-serving", error: "connect ECONNREFUSED" },
      approval: { what: "restart", member: "demo-2", after: "30s", given: onKubernetes("restart-demo-2") },
    },
  }),
} as const;
