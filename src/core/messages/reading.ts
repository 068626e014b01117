/** What keeps a quorum from coming back and its data from being read, and what a person can do about it. */
import type { ReadObstacle } from "../facts/directory-facts.ts";
import type { Names } from "./message.ts";
import { list, plural } from "./words.ts";

/** Nobody could look into the volume of this member so far. */
export interface Unread {
  readonly member: string;
  readonly why: string;
  readonly obstacle?: ReadObstacle | undefined;
}

/** Nodes that do not answer, and members that were there. */
export interface SilentNodes {
  readonly nodes: Names;
  /** Their data is on the node itself, and moves to no other. */
  readonly isLocal: boolean;
}

/** As the rest of a sentence; empty where there is nothing to tell. */
export function sayUnread(unread: readonly Unread[]): string {
  return unread
    .map(({ member, why }) => `; what the volume of ${member} holds is not known yet: ${why}`)
    .join("");
}

export function saySilent({ nodes }: SilentNodes): string {
  return nodes.length === 0 ? "" : `; ${list(nodes)} ${plural(nodes, "does", "do")} not answer`;
}

/** How a person says that nodes are off, so that Kubernetes lets go of their Pods and volumes. */
export function outOfService(nodes: Names): string {
  return `kubectl taint nodes ${nodes.join(" ")} node.kubernetes.io/out-of-service=nodeshutdown:NoExecute`;
}

function howToEndSilence({ nodes, isLocal }: SilentNodes): string {
  if (nodes.length === 0) return "";
  const [it, is] = [plural(nodes, "it", "they"), plural(nodes, "is", "are")];
  const bring = `Bring ${list(nodes)} back.`;
  if (isLocal)
    return `${bring} If ${it} ${is} gone for good, delete the ${plural(nodes, "Node", "Nodes")}: the data there is then considered lost, and a recovery plan is proposed.`;
  return `${bring} If ${it} ${is} switched off, let the members start on other nodes: ${outOfService(nodes)} (never while ${it} may still run).`;
}

/** What a person can do; empty where there is nothing to do but to wait. */
export function howToHelp(unread: readonly Unread[], silent: SilentNodes): string {
  const kinds = new Set(unread.flatMap(({ obstacle }) => obstacle ?? []));
  // Said with its name already.
  if (silent.nodes.length > 0) kinds.delete("node");
  return [howToEndSilence(silent), ...[...kinds].map((kind) => REMEDIES[kind])].filter(Boolean).join(" ");
}

const REMEDIES: Readonly<Record<ReadObstacle, string>> = {
  refused: "Allow the Pod that reads the volume (quota, admission policy, RBAC); the operator retries.",
  image:
    "Make the operator's image available on that node: check --image, the registry and spec.image.pullSecrets.",
  "in-use":
    "To let the volume be read, stop its member: cordon its node and delete its Pod; uncordon the node when the plan is there.",
  unschedulable: "Bring back a node that can use the volume.",
  mount: "Find out why the volume is not mounted: the events of the Pod name the reason.",
  node: "Bring that node back; if it is gone for good, delete the Node.",
};
