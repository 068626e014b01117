/** What is done for one snapshot in one pass, and how Jobs are made and awaited alike for all that they do. */
import type { Worker } from "../messages/snapshot-verdicts.ts";
import { jobName } from "./names.ts";
import type { SnapshotEffect } from "./effect.ts";
import type { SnapshotFacts, SnapshotState } from "./facts.ts";

/** One effect for each snapshot at most, or the time after which there is one. */
export type Turn = { readonly effect: SnapshotEffect } | { readonly inMs: number } | undefined;

/** Job and Pod come by different watches: what the Pod said may come after the end of its Job. */
const AWAIT_RESULT_MS = 20_000;

/** Undefined once nothing more is to come. */
export function awaitResult({
  agoMs,
  reported,
}: {
  readonly agoMs: number;
  readonly reported: boolean;
}): Turn {
  return !reported && agoMs < AWAIT_RESULT_MS ? { inMs: AWAIT_RESULT_MS - agoMs } : undefined;
}

export type JobRequest = Omit<Extract<SnapshotEffect, { kind: "StartJob" }>, "kind" | "snapshot">;

/** What does it: a Job or its Pod, or a process of this machine. */
export function workerNamed({ by }: Pick<SnapshotState, "by">, name: string): Worker {
  return { by, name };
}

/** The Job, unless the last attempt to make it is what has to be told first. */
export function startJob(
  world: Pick<SnapshotState, "by">,
  snapshot: SnapshotFacts,
  job: JobRequest,
  refused: (why: { readonly job: Worker; readonly why: string }) => Turn,
): Turn {
  const { failure } = snapshot;
  const named = workerNamed(world, jobName(snapshot, job.task, job.attempt));
  const first = failure === undefined ? undefined : refused({ job: named, why: failure });
  return first ?? { effect: { kind: "StartJob", snapshot, ...job } };
}
