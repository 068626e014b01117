/** What `quorate recover node` makes sure of before it does anything: no etcd runs on the data, and new data is apart from the old. */
import { realpath } from "node:fs/promises";
import path from "node:path";
import { startedAlone } from "../../../recovery/alone.ts";
import type { Disk } from "../../../seams/disk.ts";
import { openedBy } from "../../../seams/open-files.ts";
import { commandOf } from "../../called.ts";
import { CommandError, EXIT } from "../../exit.ts";
import { UsageError } from "../../io.ts";

/** A process on the data would go on writing what a copy then lacks, and two must never serve from the same. */
export async function assertUnused(dataDir: string, proc?: string): Promise<void> {
  const users = await openedBy(path.join(dataDir, "member", "snap", "db"), proc);
  if (users === undefined)
    throw new CommandError(
      EXIT.failed,
      `it is not known whether an etcd runs on ${dataDir}, because this user does not see the open files of all processes; nothing was done. Run this as root, on Linux.`,
    );
  if (users.length > 0)
    throw new CommandError(
      EXIT.conflict,
      `process ${users.join(", ")} has the database in ${dataDir} open: an etcd runs on it. If it serves, use it; otherwise stop it first, and its Pod with it. Nothing was done`,
    );
}

/** A person approves just what was shown. */
export function assertSamePlan(
  io: Parameters<typeof commandOf>[0],
  plan: { readonly hash: string },
  approved: string,
  asked: string,
): void {
  if (plan.hash !== approved)
    throw new CommandError(
      EXIT.conflict,
      `the plan is ${plan.hash} now, not ${approved}; nothing was done. Read it again: ${commandOf(io)} recover node ${asked}`,
    );
}

/** Its data was started alone: with its siblings it would serve what it held before, beside what was written since. */
export async function assertNeverAlone(disk: Disk, workBase: string): Promise<void> {
  const data = await startedAlone(disk, workBase);
  if (data !== undefined)
    throw new CommandError(
      EXIT.conflict,
      `this member was started alone before, and ${data} may hold writes that its siblings never had: start that one again, or delete it if it is not wanted. Nothing was done`,
    );
}

/** `source`: the member's data directory, or the snapshot. */
export async function assertApart(source: string, workDir: string): Promise<void> {
  const [from, work] = [await withoutLinks(source), await withoutLinks(workDir)];
  const data = path.join(work, "data");
  if (isWithin(work, from) || isWithin(from, data))
    throw new UsageError(
      `--to ${workDir} would put the new data (${data}) where the old is (${from}), which is only read: use an empty directory beside it`,
    );
}

function isWithin(inner: string, outer: string): boolean {
  const way = path.relative(outer, inner);
  return way !== ".." && !way.startsWith(`..${path.sep}`) && !path.isAbsolute(way);
}

/** Also of what does not exist yet. */
async function withoutLinks(target: string): Promise<string> {
  try {
    return await realpath(target);
  } catch {
    const parent = path.dirname(target);
    return parent === target ? target : path.join(await withoutLinks(parent), path.basename(target));
  }
}
