/** `quorate local logs <member>`: the end of a member's log, and what follows. */
import { systemDisk } from "../../seams/disk.ts";
import { sleep } from "../../seams/clock.ts";
import { CommandError, EXIT } from "../exit.ts";
import type { CliIo } from "../io.ts";
import { wholeNumber } from "./change.ts";
import { exactly, parse, placeOf } from "./place.ts";
import { requireCluster } from "./session.ts";
import { ending } from "./usage.ts";

export const summary = "show a member's log";
export const usage = (
  command: string,
): string => `Usage: ${command} local logs <member> [--lines <n>] [--follow] [options]

etcd logs JSON; -o json prints its lines unchanged.

Options:
      --lines <n>         number of lines to show (default: 20)
      --follow            keep printing new lines until Ctrl-C
${ending(command, ["The last 20 lines of etcd-1", "logs etcd-1"], ["The last 100, and what follows", "logs etcd-1 --lines 100 --follow"])}`;

const BYTES_PER_LINE = 4096;
const POLL_MS = 200;

export async function run(args: string[], io: CliIo): Promise<number> {
  const { values, positionals } = parse(args, { lines: { type: "string" }, follow: { type: "boolean" } });
  const [member = ""] = exactly(positionals, "member");
  const place = placeOf(values, io);
  const { layout } = place;
  const lines = wholeNumber("--lines", values.lines ?? "20");
  const file = layout.logOf(member);
  if ((await systemDisk.stat(file)) === undefined) {
    await requireCluster(place, io);
    const known = (await systemDisk.list(layout.logs)).filter((name) => name.endsWith(".log"));
    const names = known.map((name) => name.slice(0, -".log".length)).join(", ");
    throw new CommandError(
      EXIT.notFound,
      `no log of ${JSON.stringify(member)} in ${layout.logs}; logs exist for: ${names || "no member"}`,
    );
  }
  const tail = await systemDisk.tail(file, lines * BYTES_PER_LINE);
  const last = tail
    .split("\n")
    .filter((line) => line !== "")
    .slice(-lines);
  io.stdout.write(last.map((line) => `${line}\n`).join(""));
  if (values.follow) await follow(file, io);
  return 0;
}

async function follow(file: string, io: CliIo): Promise<void> {
  let seen = (await systemDisk.stat(file))?.size ?? 0;
  while (!io.signal.aborted) {
    const size = (await systemDisk.stat(file))?.size ?? 0;
    if (size < seen) seen = 0; // Set aside and begun anew.
    if (size > seen) {
      io.stdout.write(Buffer.from(await systemDisk.readBytes(file, seen, size - seen)).toString("utf8"));
      seen = size;
    }
    await sleep(io.clock, POLL_MS, io.signal).catch(() => undefined);
  }
}
