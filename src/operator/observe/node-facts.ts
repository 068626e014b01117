/**
 * What is known of a node: whether it is lost, and whether its kubelet reports. Where Nodes may not be read, a Pod on it
 * tells: the control plane takes the readiness of the Pods of a silent node away, without a kubelet's reason.
 */
import type { Node, Pod } from "kubernetes-types/core/v1.d.ts";
import type { MemberNode } from "../../core/observation.ts";

/** By name; undefined when nodes cannot be read, and then none counts as lost. */
export type Nodes = ReadonlyMap<string, Node> | undefined;

/** A person or the cloud said that it is off: nothing runs there. */
export function isOff(node: Node | undefined): boolean {
  if (!node) return true;
  return node.spec?.taints?.some(({ key }) => key === "node.kubernetes.io/out-of-service") === true;
}

export function isLost(node: Node | undefined): boolean {
  if (!node || isOff(node)) return true;
  // False is a report too: that kubelet lives and will confirm.
  return readyOf(node)?.status === "Unknown";
}

/** Whether what was said of it at that time, that it is off, holds no longer; by the clock of the API server. */
export function hasReportedSince(node: Node | undefined, at: number): boolean {
  if (isOff(node)) return false;
  const ready = readyOf(node);
  const since = Date.parse(ready?.lastTransitionTime ?? "");
  return ready?.status !== "Unknown" || !(since <= at);
}

/** Of a node that is gone or declared out of service nothing is told: Kubernetes itself ends its Pods. */
export function nodeOf(pod: Pod | undefined, nodes: Nodes): MemberNode | undefined {
  const name = pod?.spec?.nodeName;
  if (!pod || !name) return undefined;
  if (!nodes) return byConditions(pod, name);
  const node = nodes.get(name);
  if (isOff(node)) return undefined;
  return isLost(node) ? silent(name, readyOf(node)?.lastTransitionTime) : { name, kubelet: "reports" };
}

/**
 * A Pod that was not ready when its node fell silent keeps its kubelet's reason, and then nothing is known: it counts as
 * one that reports, so that nobody can say that its node is off.
 */
function byConditions({ status }: Pod, name: string): MemberNode {
  const ready = status?.conditions?.find(({ type }) => type === "Ready");
  const isTakenAway = ready?.status === "Unknown" || (ready?.status === "False" && !ready.reason);
  return isTakenAway ? silent(name, ready.lastTransitionTime) : { name, kubelet: "reports" };
}

/** Without a time it may have reported a moment ago. */
function silent(name: string, at: string | undefined): MemberNode {
  const since = Date.parse(at ?? "");
  return Number.isNaN(since) ? { name, kubelet: "reports" } : { name, kubelet: "silent", since };
}

function readyOf(node: Node | undefined) {
  return node?.status?.conditions?.find(({ type }) => type === "Ready");
}
