/** What ails a member, in a few words for a person: the nearest to a cause that was seen. */
import { sayTrouble, type LostNode, type Trouble } from "../messages/trouble.ts";
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

/** The node that will not confirm the end of what is there. */
export function lostNodeOf({ workload, node }: Pick<MemberView, "workload" | "node">): LostNode | undefined {
  if (workload.state !== "stopping" || workload.lostNode === undefined) return undefined;
  return { name: workload.lostNode, is: node === undefined ? "gone" : "silent" };
}

export function troubleOf(member: MemberView): Trouble {
  const { workload, answer } = member;
  switch (workload.state) {
    case "exited":
      return { kind: "ended", detail: workload.detail || workload.cause };
    case "waiting":
      return { kind: "waiting", why: workload.reason };
    case "absent":
      return workload.notMade ? { kind: "not-made", why: workload.notMade.message } : { kind: "not-running" };
    case "stopping": {
      const node = lostNodeOf(member);
      return node ? { kind: "node-lost", node } : { kind: "stopping" };
    }
    case "running": {
      const ended = lastEndOf(member);
      return {
        kind: "not-serving",
        ...(!answer.reachable && { error: answer.error }),
        ...(ended && { lastEnd: ended.detail || ended.cause }),
      };
    }
  }
}

export function trouble(member: MemberView): string {
  return sayTrouble(troubleOf(member));
}
