/**
 * One installer per version at a time, across processes. The lock is a file that names its holder by
 * pid and start time, so that a killed holder is recognised even when its pid was given away again.
 *
 * Files are numbered: a waiter takes over from a dead holder of N by creating N+1, which only one can.
 * After creating its file a process looks again and withdraws if another live one is there; of two
 * that overlap at least one sees the other, so there are never two holders.
 */
import { link, mkdir, readdir, readFile, rm, unlink, writeFile } from "node:fs/promises";
import path from "node:path";
import process from "node:process";
import { sleep, type Clock } from "../../seams/clock.ts";
import { runCommand } from "./command.ts";

export interface LockHolder {
  readonly pid: number;
  /** As the system tells it; opaque. */
  readonly started: string;
}

export interface LockOptions {
  readonly clock: Clock;
  readonly signal?: AbortSignal;
  /** Called once when the lock is held by another. */
  readonly onWait?: (holder: LockHolder) => void;
}

const POLL_MS = 200;

/** Runs `work` while holding the lock `name` in `dir`. */
export async function withLock<T>(
  dir: string,
  name: string,
  options: LockOptions,
  work: () => Promise<T>,
): Promise<T> {
  const file = await acquire(dir, name, options);
  try {
    return await work();
  } finally {
    await unlink(file);
  }
}

async function acquire(dir: string, name: string, options: LockOptions): Promise<string> {
  await mkdir(dir, { recursive: true });
  const self: LockHolder = { pid: process.pid, started: (await startTime(process.pid)) ?? "unknown" };
  const draft = path.join(dir, `.${name}.draft-${process.pid}-${draftNumber++}`);
  await writeFile(draft, JSON.stringify(self));
  try {
    let reported = false;
    for (;;) {
      const seen = await readLocks(dir, name);
      const holder = seen.find((lock) => lock.alive);
      if (!holder) {
        const number = 1 + Math.max(0, ...seen.map((lock) => lock.number));
        const mine = lockFile(dir, name, number);
        if ((await tryLink(draft, mine)) && (await isAlone(dir, name, number))) return mine;
      } else if (!reported) {
        reported = true;
        options.onWait?.(holder.holder);
      }
      await sleep(options.clock, POLL_MS, options.signal);
    }
  } finally {
    await rm(draft, { force: true });
  }
}

/** Two installs in one process must not share a draft. */
let draftNumber = 0;

/** True when no other live process has a lock file; stale ones are removed, else ours is withdrawn. */
async function isAlone(dir: string, name: string, number: number): Promise<boolean> {
  const others = (await readLocks(dir, name)).filter((lock) => lock.number !== number);
  if (others.some((lock) => lock.alive)) {
    await unlink(lockFile(dir, name, number));
    return false;
  }
  await Promise.all(others.map((lock) => rm(lockFile(dir, name, lock.number), { force: true })));
  return true;
}

interface SeenLock {
  readonly number: number;
  readonly holder: LockHolder;
  readonly alive: boolean;
}

async function readLocks(dir: string, name: string): Promise<SeenLock[]> {
  const prefix = `.${name}.lock-`;
  const found: SeenLock[] = [];
  for (const entry of await readdir(dir)) {
    const number = entry.startsWith(prefix) ? Number(entry.slice(prefix.length)) : Number.NaN;
    if (!Number.isInteger(number)) continue;
    const holder = await readHolder(path.join(dir, entry));
    if (holder) found.push({ number, holder, alive: await isAlive(holder) });
  }
  return found;
}

async function readHolder(file: string): Promise<LockHolder | undefined> {
  try {
    return JSON.parse(await readFile(file, "utf8")) as LockHolder;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    // Linked only when written whole, so this is not ours: treat it as left behind.
    if (error instanceof SyntaxError) return { pid: 0, started: "" };
    throw error;
  }
}

async function isAlive(holder: LockHolder): Promise<boolean> {
  return holder.pid > 0 && (await startTime(holder.pid)) === holder.started;
}

/** When a process started, in words that only need to be compared; undefined when there is none. */
async function startTime(pid: number): Promise<string | undefined> {
  try {
    const stat = await readFile(`/proc/${pid}/stat`, "utf8");
    // The command name may hold spaces and parentheses: count the fields after its end.
    const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
    return fields[0] === "Z" ? undefined : fields[19];
  } catch {
    if (process.platform === "linux") return undefined;
    const answer = await runCommand("ps", ["-o", "lstart=", "-p", String(pid)], { env: process.env });
    return answer.stdout.trim() || undefined;
  }
}

async function tryLink(from: string, to: string): Promise<boolean> {
  try {
    await link(from, to);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "EEXIST") return false;
    throw error;
  }
}

function lockFile(dir: string, name: string, number: number): string {
  return path.join(dir, `.${name}.lock-${number}`);
}
