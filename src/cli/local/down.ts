/** `quorate local down`: stops the members, and the controller when one runs. */
import { sleep } from "../../seams/clock.ts";
import type { CliIo } from "../io.ts";
import { print } from "./output.ts";
import { exactly, parse, placeOf } from "./place.ts";
import { call, hasController } from "./session.ts";
import { ending } from "./usage.ts";

export const summary = "stop the cluster; its data is retained";
export const usage = (command: string): string => `Usage: ${command} local down [options]

Stops the members gracefully, then the controller. Works without a running controller too.

Options:
${ending(command, ["Stop the cluster; the next up continues with its data", "down"])}`;

const LONGEST_STOP_MS = 60_000;
const POLL_MS = 50;

export async function run(args: string[], io: CliIo): Promise<number> {
  const { values, positionals } = parse(args, {});
  exactly(positionals);
  const place = placeOf(values, io);
  const done = await call(place, io, "down");
  const end = io.clock.monotonic() + LONGEST_STOP_MS;
  while (await hasController(place, io)) {
    if (io.clock.monotonic() > end)
      throw new Error(
        `the controller is still running after ${LONGEST_STOP_MS / 1000} s; its log shows what it is waiting for`,
      );
    await sleep(io.clock, POLL_MS, io.signal);
  }
  print(io, place, done, done.text);
  return 0;
}
