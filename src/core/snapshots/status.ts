/** The status of an EtcdSnapshot: how each write of it is made from the one before. Its conditions follow from its phase. */
import type { EtcdSnapshotStatus } from "../../api/etcd-snapshot.ts";
import type { SnapshotPhase } from "../../api/status-words.ts";
import type { SnapshotReason } from "../messages/snapshot-reasons.ts";
import { condition, findCondition, no, sentence, timestamp, yes } from "../status/condition.ts";
import type { SnapshotFacts } from "./facts.ts";

/** What is the case with it: a phase, one word for machines, and a fragment of a sentence. */
export interface SnapshotVerdict {
  readonly phase: SnapshotPhase;
  readonly reason: SnapshotReason;
  readonly message: string;
  /** What was settled or found. */
  readonly fields?: Partial<EtcdSnapshotStatus>;
}

const FINAL: ReadonlySet<string | undefined> = new Set<SnapshotPhase>(["Succeeded", "Failed", "Rejected"]);

export function isFinal({ status }: Pick<SnapshotFacts, "status">): boolean {
  return FINAL.has(status.phase);
}

const LONGEST = 1024;

export function statusAfter(
  { status: before, generation }: Pick<SnapshotFacts, "status" | "generation">,
  { phase, reason, message: fragment, fields }: SnapshotVerdict,
  now: number,
): EtcdSnapshotStatus {
  const message = sentence(fragment).slice(0, LONGEST);
  const seen = { now, generation };
  const verdicts = {
    Ready: phase === "Succeeded" ? yes(reason, message) : no(reason, message),
    Reconciling: FINAL.has(phase) ? no(reason, message) : yes(reason, message),
    Stalled: phase === "Failed" || phase === "Rejected" ? yes(reason, message) : no(reason, message),
  };
  return {
    ...before,
    observedGeneration: generation,
    phase,
    reason,
    message,
    ...(FINAL.has(phase) && { completedAt: timestamp(now) }),
    ...fields,
    conditions: (Object.keys(verdicts) as (keyof typeof verdicts)[]).map((type) =>
      condition(type, verdicts[type], findCondition(before.conditions, type), seen),
    ),
  };
}

/** Whether the status says it already. */
export function isReported({ status, generation }: SnapshotFacts, verdict: SnapshotVerdict): boolean {
  return (
    status.observedGeneration === generation &&
    status.phase === verdict.phase &&
    status.reason === verdict.reason &&
    status.message === sentence(verdict.message).slice(0, LONGEST)
  );
}
