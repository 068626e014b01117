/** What is said of members that serve everybody but the operator, and how a person approves a step on one of them. */
import type { UnreachableCause } from "../facts/etcd-facts.ts";
import { givenBy, type Approvable } from "./approvals.ts";
import type { Names } from "./message.ts";
import { list, plural } from "./words.ts";

export interface Unreachable {
  readonly members: Names;
  /** What each attempt ended with. */
  readonly errors: readonly string[];
  /** Where to look first. */
  readonly cause: UnreachableCause;
  /** Who says that they serve nevertheless. */
  readonly ready: boolean;
  readonly seenByPeers: boolean;
}

/** What is the case: who cannot be reached, with what failure, and who says that they serve nevertheless. */
export function sayUnreachable({ members, errors, ready, seenByPeers }: Unreachable): string {
  const whose = plural(members, "its", "their");
  const witnesses = [
    ...(ready ? [plural(members, "its etcd container is ready", "their etcd containers are ready")] : []),
    ...(seenByPeers ? [`${whose} peers are connected to ${plural(members, "it", "them")}`] : []),
  ];
  const why = witnesses.length > 0 ? `, but ${witnesses.join(" and ")}` : `, but ${whose} etcd answers`;
  return `the operator cannot reach etcd on ${list(members)} (${errors.join("; ")})${why}`;
}

/** Why nothing follows from what etcd answers, beside the errors of connections. */
export const ANSWERS = {
  none: "not running",
  refused: "its requests are refused: authentication is enabled",
  slow: "it was too slow to answer a linearizable read",
} as const;

const LOOK_AT: Readonly<Record<UnreachableCause, string>> = {
  network:
    "Check what may keep the operator from the client port of these members: a NetworkPolicy, a firewall, or the network of its node",
  certificate:
    "Check the operator's client certificate and the client CA: one side rejects the certificate of the other",
  authentication:
    "Grant the role root to an etcd user named as the common name of the operator's client certificate, or disable authentication (etcdctl auth disable)",
  unknown: "Check what keeps the operator from the client port of these members",
};

export function whereToLook({ cause }: Unreachable): string {
  return LOOK_AT[cause];
}

/** A step that a person can let us take on one member although we do not see it. */
export interface Approval {
  readonly what: "replace" | "restart";
  readonly member: string;
  readonly given: Approvable;
  /** How long it has to have been out of reach before the approval counts. */
  readonly after: string;
}

/** How the approval is given and when it counts, as the end of a sentence. */
export function howToApprove({ member, after, given }: Approval): string {
  return `${givenBy(given)}; this takes effect once ${member} has been unreachable for ${after}`;
}

export const UNREACHABLE_EXAMPLE: Unreachable = {
  members: ["demo-3"],
  errors: ["connect ETIMEDOUT"],
  cause: "network",
  ready: true,
  seenByPeers: true,
};
