/**
 * Nodes of which a person may have to say that they are off: their kubelets are silent, so nobody confirms that what ran
 * there has ended. We never know it; what was heard from there since contradicts the person, and counts for more (H16).
 */
import type { MemberFacts, OperationFacts } from "../observation.ts";
import { byOurClock, type View } from "../view.ts";

/** Most come back within this time: a restart, a cable, a network policy. */
const SILENT_MS = 5 * 60_000;

type OnNode = Pick<MemberFacts, "workload" | "node">;

/** As a hash and the status have it. */
export function nodesToBeOff(view: View): string[] {
  const silent = view.members.flatMap(({ workload, node }) =>
    workload.state !== "absent" && node?.kubelet === "silent" ? [node.name] : [],
  );
  return [...new Set(silent)].filter((name) => isSilentForLong(view, name)).toSorted();
}

/** By all that is there: where Nodes may not be read each Pod tells for itself, and one report is enough. */
function isSilentForLong(view: View, name: string): boolean {
  const silentFor = (since: number) => view.now - byOurClock(view, since);
  const isSilent = ({ node }: MemberFacts) =>
    node?.name !== name || (node.kubelet === "silent" && silentFor(node.since) >= SILENT_MS);
  return view.members.every(isSilent) && !isHeardFrom(view, name);
}

/** What the person said of its node is the only word on whether it runs. */
export function isOnNodeOff({ workload, node }: OnNode, nodesOff: readonly string[]): boolean {
  return workload.state !== "absent" && node?.kubelet === "silent" && nodesOff.includes(node.name);
}

/** It was told to stop and had the time for it: with its node off, that is all there will be. */
export function isEndedOff(member: OnNode, nodesOff: readonly string[]): boolean {
  const { workload } = member;
  return workload.state === "stopping" && workload.overdue === true && isOnNodeOff(member, nodesOff);
}

/** Those of the nodes from which something was heard since this operation was created: they are not off. */
export function heardSince(
  view: View,
  nodesOff: readonly string[],
  { createdAt }: Pick<OperationFacts, "createdAt">,
): string[] {
  const spoke = (name: string) =>
    view.members.some(
      ({ node }) => node?.name === name && (node.kubelet === "reports" || node.since > createdAt),
    );
  return nodesOff.filter((name) => spoke(name) || isHeardFrom(view, name));
}

/** A kubelet may be silent on a machine whose members serve. */
function isHeardFrom({ members }: View, name: string): boolean {
  return members.some(
    ({ node, answer, alive, seenByPeers }) =>
      node?.name === name && (answer.reachable || alive === true || seenByPeers === true),
  );
}
