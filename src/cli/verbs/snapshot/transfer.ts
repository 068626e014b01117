/** How much of a snapshot a command has read or sent: told to whoever started it, who shows it where people wait. */
import type { Transfer } from "../../../core/snapshots/facts.ts";
import { CommandError } from "../../exit.ts";
import type { CliIo } from "../../io.ts";
import { Reporter, type ReportFlags } from "./reporter.ts";

/** A file is written that often at most. */
const EVERY_MS = 1_000;

export type Tell = (done: number, of?: number) => void;

export async function withTransfer<T>(
  flags: ReportFlags,
  io: CliIo,
  work: (tell: Tell) => Promise<T>,
): Promise<T> {
  await using reporter = await reporterFor(flags, io);
  let next = io.clock.monotonic();
  return await work((done, of) => {
    reporter.keep({ done, ...(of !== undefined && { of }) });
    const now = io.clock.monotonic();
    // What follows may take long: until then the last figure counts.
    if (now < next && done !== of) return;
    next = now + EVERY_MS;
    reporter.write();
  });
}

/** A port that something else has taken must not be what the work fails by. */
async function reporterFor(flags: ReportFlags, io: CliIo): Promise<Reporter<Transfer>> {
  const first: Transfer = { done: 0 };
  try {
    return await Reporter.start(first, flags, io);
  } catch (error) {
    if (!(error instanceof CommandError)) throw error;
    io.stderr.write(`progress is not served: ${error.message}\n`);
    return await Reporter.start(first, { "report-file": flags["report-file"] }, io);
  }
}
