/** `quorate local delete`: ends the cluster for good; what happens to its data is in its spec. */
import { Controller } from "../../local/controller.ts";
import { thisMachine } from "../../local/machine.ts";
import { sleep } from "../../seams/clock.ts";
import { commandOf } from "../called.ts";
import type { CliIo } from "../io.ts";
import { print } from "./output.ts";
import { exactly, parse, placeOf, type Place } from "./place.ts";
import { call, hasController } from "./session.ts";
import { ending } from "./usage.ts";

export const summary =
  "delete the cluster; its data is retained unless spec.storage.retention.onDelete is Delete";
export const usage = (command: string): string => `Usage: ${command} local delete [options]

Stops all members and deletes the cluster. Its volumes are retained, unless the spec sets
storage.retention.onDelete to Delete.

Options:
${ending(command, ["Delete the cluster demo", "delete --name demo"])}`;

const LONGEST_DELETION_MS = 120_000;
const POLL_MS = 50;

export async function run(args: string[], io: CliIo): Promise<number> {
  const { values, positionals } = parse(args, {});
  exactly(positionals);
  const place = placeOf(values, io);
  const done = await call(place, io, "delete");
  if (await hasController(place, io)) await untilGone(place, io);
  else await deleteHere(place, io);
  print(io, place, done, done.text);
  return 0;
}

async function untilGone(place: Place, io: CliIo): Promise<void> {
  const { disk } = thisMachine(io).seams;
  const end = io.clock.monotonic() + LONGEST_DELETION_MS;
  while ((await disk.stat(place.layout.cluster)) !== undefined || (await hasController(place, io))) {
    if (io.clock.monotonic() > end)
      throw new Error(
        `the cluster is still being deleted; ${commandOf(io)} local why shows what it is waiting for`,
      );
    await sleep(io.clock, POLL_MS, io.signal);
  }
}

/** No controller runs: this process is one until the cluster is gone. */
async function deleteHere(place: Place, io: CliIo): Promise<void> {
  const controller = await Controller.open({ ...thisMachine(io), layout: place.layout, socket: "" });
  try {
    await controller.run(io.signal);
  } finally {
    await controller.close({ stopMembers: false });
  }
}
