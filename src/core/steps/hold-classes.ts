/**
 * Which steps wait for what: the sets of classes that holds name. Healing, reverting, records and the cluster's own life
 * wait for nothing but `everything`.
 */
import type { StepClass } from "./step-class.ts";

/** Restarts and maintenance: they disturb members that serve. */
const DISRUPTIONS = ["roll", "maintain"] as const;

export const HOLDS = {
  everything: "all",
  /** It is told, and keeps nothing back. */
  nothing: [],
  allButHealing: ["join", "promote", "shrink", ...DISRUPTIONS],
  /** Steps that etcd rejects, or that are not safe, while a voter is down. */
  needingAllVoters: ["join", "promote", ...DISRUPTIONS],
  membershipAndDisruptions: ["join", "shrink", ...DISRUPTIONS],
  joinsAndDisruptions: ["join", ...DISRUPTIONS],
  removalsAndDisruptions: ["shrink", ...DISRUPTIONS],
  disruptions: DISRUPTIONS,
  joinsAndRollouts: ["join", "roll"],
  /** What a changed spec asks for. */
  edits: ["shrink", "roll"],
  joins: ["join"],
  rollouts: ["roll"],
  maintenance: ["maintain"],
} as const satisfies Readonly<Record<string, readonly StepClass[] | "all">>;
