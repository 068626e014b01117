/** Why a recovery plan waits for a person although the spec asks for automatic recovery. */
import type { Names } from "./names.ts";
import { clockTime, list } from "./words.ts";

export type ManualBecause =
  /** Their data may still be somewhere. */
  | { readonly kind: "doubt"; readonly members: Names }
  /** Whether they are off, a person has to say. */
  | { readonly kind: "nodes"; readonly nodes: Names }
  /** It would be rejected. */
  | { readonly kind: "hindered"; readonly why: string }
  | { readonly kind: "tried"; readonly times: number }
  /** No member list is known: neither does a member answer nor does a directory say. */
  | { readonly kind: "unlisted" }
  /** Voters without a record: whether they serve is not known. */
  | { readonly kind: "unrecorded-voters"; readonly members: Names }
  /** How far the cluster had come is not known: quorum was not seen until seconds before the loss. */
  | { readonly kind: "unknown-loss" }
  | { readonly kind: "loss"; readonly lost: number; readonly most: number }
  | { readonly kind: "recent"; readonly until: number }
  | { readonly kind: "early"; readonly until: number };

/** As one more sentence. */
export function sayManual(because: ManualBecause): string {
  switch (because.kind) {
    case "doubt":
      return `Automatic recovery does not approve the plan: it is not proven that the data of ${list(because.members)} is gone.`;
    case "nodes":
      return `Automatic recovery does not approve the plan: only a person can say that ${list(because.nodes)} ${because.nodes.length === 1 ? "is" : "are"} off.`;
    case "hindered":
      return `Automatic recovery does not approve the plan: ${because.why}.`;
    case "tried":
      return `Automatic recovery does not approve the plan: it did so ${because.times} times, and their EtcdOperations say how they ended.`;
    case "unlisted":
      return "Automatic recovery does not approve the plan: no member list says which members vote.";
    case "unrecorded-voters":
      return `Automatic recovery does not approve the plan: etcd lists voters that have no EtcdMember, and they may still serve: ${list(because.members)}.`;
    case "unknown-loss":
      return "Automatic recovery does not approve the plan: how many revisions would be lost is not known.";
    case "loss":
      return `Automatic recovery does not approve the plan: up to ${because.lost} revisions would be lost, and spec.recovery.maxLostRevisions is ${because.most}.`;
    case "recent":
      return `Automatic recovery does not approve the plan before ${clockTime(because.until)}: another recovery began less than an hour before.`;
    case "early":
      return `Automatic recovery approves the plan at ${clockTime(because.until)}, unless lost data comes back.`;
  }
}
