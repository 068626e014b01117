/** The logs of a cluster's members on this machine, from their files. */
import { sleep, type Clock } from "../../seams/clock.ts";
import type { Disk } from "../../seams/disk.ts";
import { timeOfLog } from "../screen/log-line.ts";
import { asTheyCome, inOrder } from "./merge.ts";
import type { LogLine, LogWishes } from "./target.ts";

const BYTES_PER_LINE = 4_096;
const MOST_BYTES = 64 * 1024 ** 2;
const POLL_MS = 200;

export interface LogFiles {
  readonly disk: Disk;
  readonly clock: Clock;
  readonly fileOf: (member: string) => string;
}

export async function* fileLogs(
  files: LogFiles,
  wishes: LogWishes,
  signal: AbortSignal,
): AsyncGenerator<LogLine> {
  const sizes = new Map<string, number>();
  const shown = await Promise.all(
    wishes.members.map(async (member) => {
      sizes.set(member, (await files.disk.stat(files.fileOf(member)))?.size ?? 0);
      return await latest(files, member, wishes);
    }),
  );
  yield* inOrder(shown);
  if (wishes.follow)
    yield* asTheyCome(
      wishes.members.map((member) => following(files, member, sizes.get(member) ?? 0, signal)),
    );
}

async function latest(
  { disk, clock, fileOf }: LogFiles,
  member: string,
  wishes: LogWishes,
): Promise<LogLine[]> {
  const file = fileOf(member);
  if ((await disk.stat(file)) === undefined)
    return [{ member, at: undefined, text: "no log: it has not started yet" }];
  const bytes = wishes.lines === undefined ? MOST_BYTES : wishes.lines * BYTES_PER_LINE;
  const lines = asLines(member, await disk.tail(file, Math.min(bytes, MOST_BYTES)));
  const { sinceMs } = wishes;
  const recent =
    sinceMs === undefined ? lines : lines.filter(({ at }) => at === undefined || at >= clock.now() - sinceMs);
  return wishes.lines === undefined ? recent : recent.slice(-wishes.lines);
}

async function* following(
  { disk, clock, fileOf }: LogFiles,
  member: string,
  from: number,
  signal: AbortSignal,
): AsyncGenerator<LogLine> {
  let seen = from;
  let torn = "";
  const file = fileOf(member);
  while (!signal.aborted) {
    const size = (await disk.stat(file))?.size ?? 0;
    if (size < seen) [seen, torn] = [0, ""]; // Set aside, and a new one was begun.
    if (size > seen) {
      const text = torn + Buffer.from(await disk.readBytes(file, seen, size - seen)).toString("utf8");
      const end = text.lastIndexOf("\n") + 1;
      torn = text.slice(end);
      seen = size;
      yield* asLines(member, text.slice(0, end));
    }
    await sleep(clock, POLL_MS, signal).catch(() => undefined);
  }
}

function asLines(member: string, text: string): LogLine[] {
  return text
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => ({ member, at: timeOfLog(line), text: line }));
}
