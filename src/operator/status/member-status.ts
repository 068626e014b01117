/** The status of an EtcdMember: how one member is, in a sentence, an ID and a condition. Pure. */
import type { EtcdMemberStatus } from "../../api/etcd-member.ts";
import type { Condition } from "../../api/metadata.ts";
import { timestamp } from "../../core/status/conditions.ts";
import { whyUnreachable } from "../../core/assess/out-of-reach.ts";
import type { MemberView, View } from "../../core/view.ts";

interface State {
  readonly status: Condition["status"];
  /** One word for machines. */
  readonly reason: string;
  readonly message: string;
}

/** `previous` keeps the time of the last transition. */
export function memberStatusOf(
  view: View,
  member: MemberView,
  generation: number | undefined,
  previous: EtcdMemberStatus | undefined,
): EtcdMemberStatus {
  const { status, reason, message } = stateOf(member);
  const before = previous?.conditions?.find(({ type }) => type === "Ready");
  const id = member.entry?.id ?? member.record.memberID;
  const condition: Condition = {
    type: "Ready",
    status,
    reason,
    message,
    lastTransitionTime: before?.status === status ? before.lastTransitionTime : timestamp(view.now),
    ...(generation !== undefined && { observedGeneration: generation }),
  };
  return {
    phase: `${message.charAt(0).toUpperCase()}${message.slice(1)}.`,
    ...(id !== undefined && { memberID: id }),
    role: roleOf(view, member),
    conditions: [condition],
  };
}

function roleOf(view: View, { entry, isLeader }: MemberView): NonNullable<EtcdMemberStatus["role"]> {
  if (!entry) return "Unknown";
  if (entry.isLearner) return "Learner";
  if (isLeader) return "Leader";
  return view.leader ? "Follower" : "Unknown";
}

function stateOf(member: MemberView): State {
  const { record, workload, answer, healthy, isVoter, deleting } = member;
  const not = (reason: string, message: string): State => ({ status: "False", reason, message });
  if (record.leaving) return not("Leaving", `leaves the cluster: ${record.leaving.reason}`);
  if (healthy) {
    const more = deleting ? "; its record was deleted, so it will be replaced" : "";
    const retiring = record.retiring ? `; to be replaced (${record.retiring.reason})` : "";
    const what = isVoter ? "votes and serves" : "serves as a learner";
    return { status: "True", reason: "Healthy", message: `${what}${retiring}${more}` };
  }
  if (member.outOfReach)
    return { status: "Unknown", reason: "Unreachable", message: whyUnreachable([member]) };
  switch (workload.state) {
    case "absent":
      return record.run ? not("NotStarted", "has no Pod yet") : not("Hibernated", "sleeps; its data is kept");
    case "waiting":
      return not("Waiting", `its Pod waits: ${workload.reason}`);
    case "stopping": {
      const lost = workload.lostNode === undefined ? "" : `; its node ${workload.lostNode} does not answer`;
      return not("Stopping", `its Pod is being stopped${lost}`);
    }
    case "exited":
      return not("Exited", `etcd has ended: ${workload.detail || workload.cause}`);
    case "running":
      return answer.reachable
        ? not("NotServing", "etcd runs and does not serve")
        : not("NotAnswering", `etcd does not answer: ${answer.error}`);
  }
}
