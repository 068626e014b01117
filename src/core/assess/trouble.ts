/** What ails a member, in a few words for a person: the nearest to a cause that was seen. */
import type { WorkloadFacts } from "../observation.ts";
import type { MemberView } from "../view.ts";

type Running = Extract<WorkloadFacts, { state: "running" }>;

/**
 * How the last run of a member ended that has been started again since it is not well: between two of its ends only the
 * last one tells why. An end from before the trouble has nothing to do with it.
 */
export function lastEndOf({ workload, unhealthySince }: MemberView): Running["lastEnd"] {
  const isAgain =
    workload.state === "running" && unhealthySince !== undefined && workload.since > unhealthySince;
  return isAgain ? workload.lastEnd : undefined;
}

export function trouble(member: MemberView): string {
  const { workload, answer } = member;
  switch (workload.state) {
    case "exited":
      return workload.detail || workload.cause;
    case "waiting":
      return workload.reason;
    case "absent":
      return workload.notMade?.message ?? "it does not run";
    case "stopping":
      return workload.lostNode ? `its node ${workload.lostNode} is gone` : "it is being stopped";
    case "running": {
      const now = answer.reachable ? "it does not serve" : answer.error;
      const ended = lastEndOf(member);
      return ended ? `${now}; its last run ended: ${ended.detail || ended.cause}` : now;
    }
  }
}
