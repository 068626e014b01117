/**
 * A history as registers, one per key: what each operation says about that key alone. Reads of several keys
 * and transactions over several fall apart here; that they were atomic is seen in the order of revisions.
 */
import { isWrite, writesOf, type History, type Operation } from "./history.ts";
import type { Log } from "./log.ts";
import type { Step } from "./search.ts";

export function stepsOf(history: History, log: Log, key: string, useRevisions: boolean): Step[] {
  return history.operations.flatMap((operation): Step[] => {
    const act = actOf(operation, log, key);
    if (act === undefined) return [];
    const { id, call, outcome } = operation;
    const revision =
      log.commitOf.get(operation)?.revision ??
      (outcome.kind === "answered" ? outcome.answer.revision : undefined);
    const end = outcome.kind === "answered" ? operation.end : Number.POSITIVE_INFINITY;
    return [{ id, call, end, act, ...(useRevisions && revision !== undefined && { revision }) }];
  });
}

function actOf(operation: Operation, log: Log, key: string): Step["act"] | undefined {
  const { request, outcome } = operation;
  if (outcome.kind === "refused" || (outcome.kind === "unknown" && !isWrite(request))) return undefined;
  const answer = outcome.kind === "answered" ? outcome.answer : undefined;
  const seen = answer?.seen;
  switch (request.kind) {
    case "stale-get":
      return undefined;
    case "get":
    case "range":
      return seen?.has(key) === true ? { kind: "read", value: seen.get(key)?.value } : undefined;
    case "put":
      return request.key === key ? { kind: "write", value: request.value } : undefined;
    case "delete":
      if (request.key !== key) return undefined;
      return { kind: "delete", ...(answer?.deleted !== undefined && { found: answer.deleted }) };
    case "txn": {
      const written = writesOf(request).find((write) => write.key === key);
      const from =
        request.mod === 0
          ? undefined
          : (log.valueOf(request.key, request.mod) ?? `of revision ${request.mod}`);
      if (request.key !== key) {
        // Of a transaction over several keys this one is only written to, if it went through.
        const went = answer === undefined ? log.commitOf.has(operation) : answer.succeeded === true;
        if (written === undefined || (answer !== undefined && !went)) return undefined;
        return { kind: "write", value: written.value };
      }
      if (seen?.has(key) === true && answer?.succeeded === false)
        return { kind: "read", value: seen.get(key)?.value };
      const to = written?.value;
      if (to === undefined) return answer?.succeeded === true ? { kind: "read", value: from } : undefined;
      return { kind: "swap", from, to, ...(answer?.succeeded !== undefined && { done: answer.succeeded }) };
    }
  }
}
