/**
 * How a verb reaches the cluster: through its controller when one runs, else by itself on the directory.
 */
import { currentHolder } from "../../local/lock.ts";
import { thisMachine } from "../../local/machine.ts";
import { operations } from "../../local/operations.ts";
import { NotFound } from "../../local/refused.ts";
import { callController, RemoteError } from "../../local/remote.ts";
import type { Subject } from "../../local/verb.ts";
import type { OperationName } from "../../local/server.ts";
import { withDirectory } from "../../local/subject.ts";
import { commandOf } from "../called.ts";
import { CommandError, EXIT } from "../exit.ts";
import type { CliIo } from "../io.ts";
import type { Place } from "./place.ts";

type Result<N extends OperationName> = Awaited<ReturnType<(typeof operations)[N]>>;

/** Verbs that change nothing need no lock. */
const READING: ReadonlySet<OperationName> = new Set<OperationName>([
  "status",
  "plan",
  "why",
  "listOperations",
  "listAuthObjects",
  "listSnapshots",
]);

export async function call<N extends OperationName>(
  place: Place,
  io: CliIo,
  operation: N,
  argument?: unknown,
): Promise<Result<N>> {
  const machine = thisMachine(io);
  const { layout } = place;
  await requireCluster(place, io);
  const holder = await currentHolder(layout, machine.seams);
  const run = operations[operation] as (subject: Subject, argument: unknown) => Promise<Result<N>>;
  try {
    return holder && holder.socket !== ""
      ? await callController(holder.socket, operation, argument, io.signal)
      : await withDirectory(layout, machine, !READING.has(operation), (subject) => run(subject, argument));
  } catch (error) {
    if (isNotFound(error)) throw new CommandError(EXIT.notFound, error.message, { cause: error });
    throw error;
  }
}

function isNotFound(error: unknown): error is Error {
  return error instanceof NotFound || (error instanceof RemoteError && error.kind === "NotFound");
}

/** Is anybody there to carry out what was stored? */
export async function hasController(place: Place, io: CliIo): Promise<boolean> {
  const holder = await currentHolder(place.layout, thisMachine(io).seams);
  return holder !== undefined && holder.socket !== "";
}

export async function requireCluster({ layout }: Place, io: CliIo): Promise<void> {
  if ((await thisMachine(io).seams.disk.stat(layout.cluster)) !== undefined) return;
  const next = `Start one with: ${commandOf(io)} local up`;
  throw new CommandError(EXIT.notFound, `there is no cluster in ${layout.dir}. ${next}`);
}
