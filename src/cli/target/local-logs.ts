/** The logs of a cluster's members on this machine, from their files. */
import { sleep, type Clock } from "../../seams/clock.ts";
import type { Disk } from "../../seams/disk.ts";
import { timeOfLog } from "../screen/log-line.ts";
import { asTheyCome, inOrder } from "./merge.ts";
import { newcomers, type Looking } from "./newcomers.ts";
import type { LogLine, LogWishes } from "./target.ts";

const BYTES_PER_LINE = 4_096;
const MOST_BYTES = 64 * 1024 ** 2;
const POLL_MS = 200;
const NEWLINE = 10;

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
  const shown = await Promise.all(wishes.members.map((member) => latest(files, member, wishes)));
  yield* inOrder(shown.map(({ lines }) => lines));
  if (!wishes.follow) return;
  const { members: known, membersNow } = wishes;
  yield* asTheyCome(
    known.map((member, index) => following(files, member, shown[index]?.end ?? 0, signal)),
    membersNow && joining(files, { known, membersNow, clock: files.clock, signal }),
  );
}

async function* joining(files: LogFiles, looking: Looking): AsyncGenerator<AsyncGenerator<LogLine>> {
  for await (const member of newcomers(looking)) yield following(files, member, 0, looking.signal);
}

interface Latest {
  readonly lines: readonly LogLine[];
  /** Where the first line begins that is not among them: one that was half written is shown when it is whole. */
  readonly end: number;
}

async function latest({ disk, clock, fileOf }: LogFiles, member: string, wishes: LogWishes): Promise<Latest> {
  const file = fileOf(member);
  const size = (await disk.stat(file))?.size;
  if (size === undefined)
    return { lines: [{ member, at: undefined, text: "no log: it has not started yet" }], end: 0 };
  const bytes = wishes.lines === undefined ? MOST_BYTES : wishes.lines * BYTES_PER_LINE;
  const start = Math.max(0, size - Math.min(bytes, MOST_BYTES));
  const read = Buffer.from(await disk.readBytes(file, start, size - start));
  const end = wishes.follow ? read.lastIndexOf(NEWLINE) + 1 : read.length;
  // Of the first line only the end may have been read.
  const whole = read.subarray(start === 0 ? 0 : read.indexOf(NEWLINE) + 1, end);
  const lines = asLines(member, whole.toString("utf8"));
  const { sinceMs } = wishes;
  const recent =
    sinceMs === undefined ? lines : lines.filter(({ at }) => at === undefined || at >= clock.now() - sinceMs);
  return {
    lines: wishes.lines === undefined ? recent : recent.slice(-wishes.lines),
    end: start + end,
  };
}

async function* following(
  { disk, clock, fileOf }: LogFiles,
  member: string,
  from: number,
  signal: AbortSignal,
): AsyncGenerator<LogLine> {
  let seen = from;
  const file = fileOf(member);
  while (!signal.aborted) {
    const size = (await disk.stat(file))?.size ?? 0;
    if (size < seen) seen = 0; // Set aside, and a new one was begun.
    if (size > seen) {
      const read = Buffer.from(await disk.readBytes(file, seen, size - seen));
      const whole = read.subarray(0, read.lastIndexOf(NEWLINE) + 1);
      seen += whole.length;
      yield* asLines(member, whole.toString("utf8"));
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
