/**
 * How a verb reaches the cluster: through its controller when one runs, else by itself on the directory.
 */
import { currentHolder } from "../../local/lock.ts";
import { thisMachine } from "../../local/machine.ts";
import { operations, Refused, type Subject } from "../../local/operations.ts";
import { callController } from "../../local/remote.ts";
import type { OperationName } from "../../local/server.ts";
import { withDirectory } from "../../local/subject.ts";
import { commandOf } from "../called.ts";
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
  if ((await machine.seams.disk.stat(layout.cluster)) === undefined) throw noCluster(place, io);
  const holder = await currentHolder(layout, machine.seams);
  if (holder && holder.socket !== "") {
    return await callController(holder.socket, operation, argument, io.signal);
  }
  const run = operations[operation] as (subject: Subject, argument: unknown) => Promise<Result<N>>;
  return await withDirectory(layout, machine, !READING.has(operation), (subject) => run(subject, argument));
}

/** Is anybody there to carry out what was stored? */
export async function hasController(place: Place, io: CliIo): Promise<boolean> {
  const holder = await currentHolder(place.layout, thisMachine(io).seams);
  return holder !== undefined && holder.socket !== "";
}

function noCluster({ layout }: Place, io: CliIo): Error {
  return new Refused(`there is no cluster in ${layout.dir}. Start one with: ${commandOf(io)} local up`);
}
