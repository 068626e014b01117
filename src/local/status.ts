/** The status of a local cluster, from what was seen and decided. */
import type { EtcdClusterStatus } from "../api/etcd-cluster-status.ts";
import { kubernetesOnlyFields } from "../api/kubernetes-only.ts";
import type { Decision } from "../core/action.ts";
import { clientURLOf } from "../core/flags.ts";
import type { Observation } from "../core/observation.ts";
import { describeStep } from "../core/plan.ts";
import { raftLag, viewOf, type MemberView, type View } from "../core/view.ts";

export function clusterStatus({
  observation,
  decision,
}: {
  readonly observation: Observation;
  readonly decision: Decision;
}): EtcdClusterStatus {
  const view = viewOf(observation);
  const voters = view.members.filter((member) => member.isVoter);
  const notApplicable = kubernetesOnlyFields({ spec: view.spec }).map(({ path }) => path);
  return {
    observedGeneration: observation.cluster.generation,
    phase: phaseOf(view, decision),
    ...(observation.etcd.list && { clusterID: observation.etcd.list.clusterID }),
    ...(view.leader && { leader: view.leader.name }),
    replicas: voters.length,
    readyReplicas: voters.filter((member) => member.healthy).length,
    endpoints: voters.map((member) => clientURLOf(member.record)),
    members: view.members.map((member) => memberStatus(view, member)),
    ...(notApplicable.length > 0 && { notApplicable }),
  };
}

function phaseOf(view: View, decision: Decision): string {
  if (decision.act) return `${describeStep(decision.act)}: ${decision.act.reason}`;
  const [hold] = decision.holds;
  if (hold) return hold.message;
  return `${view.healthyVoters} of ${view.voters} voters are healthy`;
}

function memberStatus(view: View, member: MemberView): NonNullable<EtcdClusterStatus["members"]>[number] {
  const { answer, entry } = member;
  const lag = raftLag(view, member);
  return {
    name: member.name,
    ...(entry && { id: entry.id }),
    role: member.isLeader
      ? "Leader"
      : entry === undefined
        ? "Unknown"
        : entry.isLearner
          ? "Learner"
          : "Follower",
    healthy: member.healthy,
    ...(answer.reachable && {
      version: answer.version,
      dbSize: answer.dbSize,
      dbSizeInUse: answer.dbSizeInUse,
    }),
    ...(lag !== undefined && { raftLag: lag }),
  };
}
