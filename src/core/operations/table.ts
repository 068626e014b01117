/** Every kind of operation that changes a cluster, and what carries it out. collectReport changes nothing: see report.ts. */
import type { OperationName } from "../../api/status-words.ts";
import type { OperationFacts } from "../observation.ts";
import { compact } from "./compact.ts";
import { defragment } from "./defragment.ts";
import { ending } from "../messages/operation-endings.ts";
import type { Handler } from "./handler.ts";
import { moveLeader } from "./move-leader.ts";
import { recoverQuorum } from "./recover-quorum.ts";
import { replaceMember } from "./replace-member.ts";
import { restart } from "./restart.ts";
import { restore } from "./restore.ts";
import { rotateCertificates } from "./rotate-certificates.ts";
import { isFinished } from "./status.ts";
import type { TaskOf } from "./task.ts";

const HANDLERS: { readonly [Name in Exclude<OperationName, "collectReport">]: Handler<TaskOf<Name>> } = {
  defragment,
  compact,
  moveLeader,
  replaceMember,
  recoverQuorum,
  restore,
  restart,
  rotateCertificates,
};

const UNKNOWN: Handler = {
  prepare: () => ({ reject: ending("NamesNoTask", {}) }),
  advance: () => ({ fail: ending("TaskUnknown", {}) }),
};

export function handlerOf({ task: { kind } }: OperationFacts): Handler {
  return kind === "unknown" || kind === "collectReport" ? UNKNOWN : (HANDLERS[kind] as Handler);
}

/**
 * The one that has its turn: the one that runs, else the first that was created. A report takes no turn: it changes
 * nothing, and is wanted most where nothing moves.
 */
export function currentOf(operations: readonly OperationFacts[]): OperationFacts | undefined {
  const open = operations.filter(
    (operation) => !isFinished(operation) && !operation.deleting && operation.task.kind !== "collectReport",
  );
  return open.find(({ status }) => status.phase === "Running") ?? open[0];
}
