/** The reasons of events that are neither steps nor waits. Like all reasons an API. */
import type { ReasonText } from "./reasons.ts";

export const EVENT_REASONS = {
  Problem: {
    meaning:
      "An object of the cluster could not be applied; the note says which and why. The operator retries.",
    remedy: "As for `PlatformProblem`.",
  },
  SpecWarning: {
    meaning: "The spec is valid and has an effect that its author may not expect; also in `status.warnings`.",
    remedy: "Change the field that the note names, or nothing.",
  },
  ClusterGone: {
    meaning:
      "An EtcdCluster was deleted without its finalizer. The Pods of its EtcdMembers are deleted and their volumes retained.",
    remedy: "Delete the volumes, or create the cluster again with `spec.storage.adopt`.",
  },
} as const satisfies Readonly<Record<string, ReasonText>>;

export type EventReason = keyof typeof EVENT_REASONS;
