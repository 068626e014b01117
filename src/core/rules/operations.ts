/**
 * Carries out EtcdOperations, one at a time in the order of their creation. The status of an operation is its record: it
 * is written before the first effect and after each one, and every effect may be repeated, so that a controller that
 * dies at any point leaves enough for the next one to continue. Finished ones are deleted when their time has come.
 */
import type { Outcome } from "../action.ts";
import { HOLDS } from "../steps/hold-classes.ts";
import type { OperationFacts } from "../observation.ts";
import { ending } from "../messages/operation-endings.ts";
import { ended, prepared } from "../operations/endings.ts";
import type { Progress } from "../operations/handler.ts";
import { isFinished, writeStatus } from "../operations/status.ts";
import { currentOf, handlerOf } from "../operations/table.ts";
import { act, hold } from "../steps/outcome.ts";
import type { Rule } from "../rule.ts";
import { byOurClock, type View } from "../view.ts";

/** A step that etcd rejects so often in a row will not succeed by itself. */
const MOST_FAILURES = 6;
const TRY_AGAIN_MS = 60_000;

export const operations: Rule = (view) => {
  const all = view.observation.operations;
  if (all.length === 0) return [];
  const current = view.established && view.hasQuorum ? currentOf(all) : undefined;
  const outcomes = current ? (setAside(view, current) ?? turnOf(view, current)) : [];
  return [...outcomes, ...all.flatMap((operation) => expiry(view, operation))];
};

/**
 * Nothing is done that could not be recorded. Whatever keeps its status from being written, such as missing rights, may
 * last: the cluster is scaled and rolled out meanwhile, and the write is tried again now and then.
 */
function setAside(view: View, { name, unrecorded }: OperationFacts): readonly Outcome[] | undefined {
  const at = unrecorded && unrecorded.at + TRY_AGAIN_MS;
  if (at === undefined || at <= view.now) return undefined;
  const about = { operation: name, error: unrecorded?.error ?? "", at };
  return [hold(HOLDS.nothing, "OperationUnrecorded", about, { until: at })];
}

function turnOf(view: View, operation: OperationFacts): readonly Outcome[] {
  const handler = handlerOf(operation);
  if (operation.status.phase !== "Running")
    return [prepared(view, operation, handler.prepare(view, operation.task, operation))];
  const { failures } = operation;
  if (failures && failures.count >= MOST_FAILURES) {
    const why = ending("StepFailedOften", { times: failures.count, error: failures.error });
    return [ended(view, operation, "fail", why)];
  }
  const outcome = progressed(view, operation, handler.advance(view, operation.task, operation));
  if ("hold" in outcome) return [outcome];
  // Behind the step: while the step is kept back, nothing that would disturb it begins.
  return [outcome, hold(HOLDS.disruptions, "OperationUnderWay", { operation: operation.name })];
}

function progressed(view: View, operation: OperationFacts, progress: Progress): Outcome {
  if ("next" in progress) return progress.next;
  if ("succeed" in progress) return ended(view, operation, "succeed", progress.succeed);
  if ("fail" in progress) return ended(view, operation, "fail", progress.fail);
  const { done: step } = progress;
  const change = { phase: "Running", reason: "Started", message: step.message, step } as const;
  return act(
    "record",
    "OperationNoted",
    { operation: operation.name, done: step.message },
    writeStatus(operation, change, "step", view.serverNow),
  );
}

/** By the time that the controller wrote; one that cannot be read keeps the operation. */
function expiry(view: View, operation: OperationFacts): readonly Outcome[] {
  const { name, uid, ttlSecondsAfterFinished: ttl, status, deleting } = operation;
  const completed = byOurClock(view, Date.parse(status.completedAt ?? ""));
  if (ttl === undefined || deleting || !isFinished(operation) || Number.isNaN(completed)) return [];
  // A time to come is of a clock that was wrong: nothing waits for it.
  const finished = completed > view.now ? (operation.finishedSince ?? view.now) : completed;
  const at = finished + ttl * 1000;
  const aside = setAside(view, operation);
  if (aside) return aside;
  return [
    at <= view.now
      ? act(
          "record",
          "OperationExpired",
          { operation: name },
          { kind: "DeleteOperation", operation: name, uid },
        )
      : hold(HOLDS.nothing, "OperationExpires", { operation: name, at }, { until: at }),
  ];
}
