/** What ails a member, in a few words for a person: the nearest to a cause that was seen. */
import type { MemberView } from "./view.ts";

export function trouble({ workload, answer, unhealthySince }: MemberView): string {
  switch (workload.state) {
    case "exited":
      return workload.detail || workload.cause;
    case "waiting":
      return workload.reason;
    case "absent":
      return "it does not run";
    case "stopping":
      return workload.lostNode ? `its node ${workload.lostNode} is gone` : "it is being stopped";
    case "running": {
      const now = answer.reachable ? "it does not serve" : answer.error;
      // Between two of its ends only the last one tells why; an end from before the trouble has nothing to do with it.
      const isLoop = unhealthySince !== undefined && workload.since >= unhealthySince;
      const { cause, detail } = workload.lastEnd ?? {};
      return isLoop && cause !== undefined ? `${now}; its last run ended: ${detail || cause}` : now;
    }
  }
}
