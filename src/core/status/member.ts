/**
 * One member in words: its role in etcd, its phase, and what keeps it from serving. The status of the cluster, the
 * status of its EtcdMember and the local platform all say this of it, and nothing else.
 */
import type { MemberStatus } from "../../api/etcd-cluster-status.ts";
import type { EtcdMemberStatus } from "../../api/etcd-member.ts";
import type { MemberPhase } from "../../api/status-words.ts";
import { whyUnreachable } from "../assess/out-of-reach.ts";
import { lostNodeOf } from "../assess/trouble.ts";
import { CAUSES } from "../messages/causes.ts";
import { memberVerdict as said } from "../messages/member-verdicts.ts";
import type { MemberView, View } from "../view.ts";
import {
  condition,
  findCondition,
  isFalse,
  isTrue,
  unknown,
  type SeenAt,
  type Verdict,
} from "./condition.ts";

export interface MemberState {
  readonly phase: MemberPhase;
  /** Whether it is Ready, and why; the message has no subject: the member's name goes before it. */
  readonly ready: Verdict;
}

/** Only its leader's answer tells followers from members whose part is not known. */
export function memberRole(view: View, { entry, isLeader }: MemberView): MemberStatus["role"] {
  if (!entry) return "Unknown";
  if (entry.isLearner) return "Learner";
  if (isLeader) return "Leader";
  return view.leader ? "Follower" : "Unknown";
}

export function memberState(member: MemberView): MemberState {
  const { record, workload, answer, healthy, isVoter, deleting } = member;
  if (record.leaving) return state("Leaving", isFalse(said("Leaving", { why: record.leaving.reason })));
  if (healthy) {
    const replaced = [
      ...(record.retiring ? [record.retiring.reason] : []),
      ...(deleting ? [CAUSES.deletedByHand] : []),
    ];
    return state("Healthy", isTrue(said("Healthy", { isVoter, fenced: member.fenced, replaced })));
  }
  if (member.outOfReach) return state("Unknown", unknown("Unreachable", whyUnreachable([member])));
  switch (workload.state) {
    case "absent": {
      if (!record.run) return state("Hibernated", isFalse(said("Hibernated", {})));
      return state("Pending", isFalse(said("NotRunning", { why: workload.notMade?.message })));
    }
    case "waiting":
      return state("Pending", isFalse(said("Waiting", { why: workload.reason })));
    case "stopping":
      return state("Stopping", isFalse(said("Stopping", { node: lostNodeOf(member) })));
    case "exited":
      return state("Failed", isFalse(said("Exited", { why: workload.detail || workload.cause })));
    case "running": {
      const phase = record.joined ? "Unhealthy" : "Starting";
      return answer.reachable
        ? state(phase, isFalse(said("NotServing", {})))
        : state(phase, isFalse(said("NotAnswering", { error: answer.error })));
    }
  }
}

/** `demo-2 is not running`, for sentences about several members. */
export function describeMember(member: MemberView): string {
  const { ready } = memberState(member);
  return ready.reason === "Unreachable" ? ready.message : `${member.name} ${ready.message}`;
}

/** The status of an EtcdMember; `previous` keeps the time of the last transition. */
export function memberStatusOf(
  view: View,
  member: MemberView,
  generation: number | undefined,
  previous: EtcdMemberStatus | undefined,
): EtcdMemberStatus {
  const { phase, ready } = memberState(member);
  const seenAt: SeenAt = { now: view.now, generation };
  const reported = { ...ready, message: describeMember(member) };
  const isReady = condition("Ready", reported, findCondition(previous?.conditions, "Ready"), seenAt);
  const id = member.entry?.id ?? member.record.memberID;
  return {
    ...(generation !== undefined && { observedGeneration: generation }),
    phase,
    message: isReady.message,
    ...(id !== undefined && { memberID: id }),
    role: memberRole(view, member),
    conditions: [isReady],
  };
}

function state(phase: MemberPhase, ready: Verdict): MemberState {
  return { phase, ready };
}
