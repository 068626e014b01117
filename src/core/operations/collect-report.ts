/**
 * collectReport: what the controller sees and decides, as JSON for a bug report. Only fields that are named here go into
 * it: no keys, certificates, environment or arguments of a Pod, and no credentials in addresses.
 */
import type { EtcdClusterStatus } from "../../api/etcd-cluster-status.ts";
import type { Decision } from "../action.ts";
import { REPORT_CUT } from "../messages/operation-reports.ts";
import { describeStep } from "../messages/step-names.ts";
import { raftLag, type MemberView, type View } from "../view.ts";

/** A status has to fit into an object of the API server beside everything else. */
export const LONGEST_REPORT = 131_072;
const LONGEST_DETAIL = 300;

export function collectReport(view: View, decision: Decision, status: EtcdClusterStatus | undefined): string {
  const { cluster, etcd, platform, operations, now } = view.observation;
  const { spec } = cluster;
  const whole = {
    collectedAt: new Date(now).toISOString(),
    cluster: {
      name: cluster.name,
      namespace: cluster.namespace,
      uid: cluster.uid,
      generation: cluster.generation,
      deleting: cluster.deleting,
      replicas: spec.replicas,
      learners: spec.learners,
      version: spec.version,
      paused: spec.paused,
      medium: spec.storage.medium,
      size: spec.storage.size,
      quotaBackendBytes: spec.options.quotaBackendBytes,
      invalid: cluster.invalid,
      marks: cluster.marks,
    },
    phase: status?.phase,
    message: status?.message,
    conditions: status?.conditions?.map(({ type, status: holds, reason, message }) => ({
      type,
      status: holds,
      reason,
      message,
    })),
    etcd: {
      clusterID: etcd.list?.clusterID,
      linearizable: etcd.list?.linearizable,
      clusterVersion: etcd.clusterVersion,
      leader: view.leader?.name,
      voters: view.voters,
      healthyVoters: view.healthyVoters,
      alarms: etcd.alarms,
      compacted: etcd.compacted?.revision,
      membersWithoutRecord: view.unrecorded.map(({ id, name, isLearner }) => ({ id, name, isLearner })),
    },
    members: view.members.map((member) => describe(view, member)),
    clashes: platform.clashes.map(({ object }) => object),
    decision: {
      converged: decision.converged,
      step: decision.act && {
        what: describeStep(decision.act),
        rule: decision.act.rule,
        why: decision.act.message,
      },
      holds: decision.holds.map(({ rule, reason, message, next }) => ({ rule, reason, message, next })),
      heldBack: decision.heldBack.map(describeStep),
    },
    operations: operations.map(({ name, task, status: { phase, reason } }) => ({
      name,
      task: task.kind,
      phase,
      reason,
    })),
  };
  const text = redacted(whole);
  return text.length <= LONGEST_REPORT ? text : redacted({ ...whole, members: [], truncated: REPORT_CUT });
}

function describe(view: View, member: MemberView): object {
  const { record, answer, workload, volume } = member;
  return {
    name: member.name,
    memberID: record.memberID,
    role: record.role,
    isVoter: member.isVoter,
    isLeader: member.isLeader,
    healthy: member.healthy,
    outOfReach: member.outOfReach,
    unhealthySince: member.unhealthySince,
    joined: record.joined,
    run: record.run,
    retiring: record.retiring?.reason,
    leaving: record.leaving?.reason,
    version: record.template.version,
    upToDate: member.upToDate,
    volume: volume.state,
    workload: {
      state: workload.state,
      restarts: "restarts" in workload ? workload.restarts : undefined,
      cause: workload.state === "exited" ? workload.cause : undefined,
      detail: workload.state === "exited" ? workload.detail.slice(0, LONGEST_DETAIL) : undefined,
      reason: workload.state === "waiting" ? workload.reason.slice(0, LONGEST_DETAIL) : undefined,
    },
    answer: answer.reachable
      ? {
          version: answer.version,
          raftTerm: answer.raftTerm,
          raftIndex: answer.raftIndex,
          lag: raftLag(view, member),
          revision: answer.revision,
          dbSize: answer.dbSize,
          dbSizeInUse: answer.dbSizeInUse,
          linearizable: answer.linearizable,
        }
      : { error: answer.error.slice(0, LONGEST_DETAIL), cause: answer.cause },
  };
}

/** Names of users and passwords stand before the host of an address. */
function redacted(report: object): string {
  return JSON.stringify(report).replaceAll(/\/\/[^/\s"@]+@/g, "//…@");
}
