/**
 * What a test process leaves behind: processes and files. Each gets a temporary folder of its own; a
 * process that is in its group, or that names the folder in its command line or environment, is one of its
 * children, also when it was started in a group of its own.
 */
import { chmodSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";

/** Caches that tools keep in the temporary folder for their next run. */
const CACHES = ["node-compile-cache", "jiti"];
const GRACE_MS = 2000;
const KILLED_MS = 20_000;

/** Short, because paths of sockets may have no more than 107 bytes; open, because some tests act as another user. */
export function makeFolder(parent = tmpdir()): string {
  const folder = mkdtempSync(join(parent, "q-"));
  chmodSync(folder, 0o755);
  return folder;
}

/** Removes the folder and names what was still in it. */
export function clearFolder(folder: string): string[] {
  const left = readdirSync(folder).filter((name) => !CACHES.includes(name));
  rmSync(folder, { recursive: true, force: true });
  return left;
}

/** Children get a moment to go after their parent; the answer is what then remained, and was ended. */
export async function endChildren(group: number | undefined, folder: string): Promise<string[]> {
  for (let waited = 0; waited < GRACE_MS; waited += 50) {
    if (childrenOf(group, folder).length === 0) return [];
    await sleep(50);
  }
  const left = childrenOf(group, folder);
  for (const { pid } of left) signalProcess(pid, "SIGKILL");
  // On a busy machine a process that was killed takes a while to go.
  for (let waited = 0; waited < KILLED_MS && childrenOf(group, folder).length > 0; waited += 50)
    await sleep(50);
  return left.map(({ command }) => command);
}

/** Ends everything the test process started, and itself. */
export function stopAll(group: number | undefined, folder: string, signal: NodeJS.Signals): void {
  if (group !== undefined) signalProcess(-group, signal);
  for (const { pid } of childrenOf(group, folder)) signalProcess(pid, signal);
}

interface Child {
  readonly pid: number;
  readonly command: string;
}

function childrenOf(group: number | undefined, folder: string): Child[] {
  if (process.platform !== "linux") return groupOf(group);
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name) && Number(name) !== process.pid)
    .flatMap((name) => {
      // "pid (name) state ppid pgrp …"; the name may hold spaces and parentheses.
      const fields = read(`/proc/${name}/stat`).split(") ").at(-1)?.split(" ") ?? [];
      // A zombie has ended; where pid 1 is no real init, it stays for ever.
      if (fields[0] === undefined || fields[0] === "Z") return [];
      const command = read(`/proc/${name}/cmdline`).replaceAll("\0", " ").trim();
      const ours =
        Number(fields[2]) === group ||
        command.includes(folder) ||
        read(`/proc/${name}/environ`).includes(folder);
      return ours ? [{ pid: Number(name), command }] : [];
    });
}

/** Without /proc only the group itself can be asked. */
function groupOf(group: number | undefined): Child[] {
  if (group === undefined) return [];
  try {
    process.kill(-group, 0);
    return [{ pid: -group, command: `process group ${group}` }];
  } catch {
    return [];
  }
}

function signalProcess(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch (error) {
    // Already gone is what was wanted.
    if ((error as NodeJS.ErrnoException).code !== "ESRCH") throw error;
  }
}

function read(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch {
    // The process ended between the listing and the look, or is another user's.
    return "";
  }
}
