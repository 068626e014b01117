/**
 * Which processes have a file open, in whatever container: the kernel lists the open files of each. A program that holds a
 * lock on a file, as etcd does on its database, has it open, so that this needs no lock of our own.
 */
import * as fs from "node:fs/promises";

/**
 * Their IDs; undefined where it is not known: no process is seen to have it open, and this system does not list them, or
 * hides the files of some from this user. `proc`: where the kernel lists processes.
 */
export async function openedBy(file: string, proc = "/proc"): Promise<readonly number[] | undefined> {
  const wanted = await statOf(file);
  if (wanted === undefined) return [];
  const processes = (await fs.readdir(proc).catch(() => [])).filter((name) => /^\d+$/.test(name));
  // The first one is always there, but a kernel may hide it (hidepid), and then others as well.
  let areAllSeen = processes.includes("1");
  const users: number[] = [];
  for (const pid of processes) {
    const files = await openFilesOf(`${proc}/${pid}/fd`);
    if (files === undefined) areAllSeen = false;
    for (const fd of files ?? []) {
      const open = await statOf(fd);
      if (open?.ino !== wanted.ino || open.dev !== wanted.dev) continue;
      users.push(Number(pid));
      break;
    }
  }
  return users.length > 0 || areAllSeen ? users : undefined;
}

/** Undefined where they are hidden, as those of other users are from everybody but root. */
async function openFilesOf(directory: string): Promise<string[] | undefined> {
  try {
    return (await fs.readdir(directory)).map((fd) => `${directory}/${fd}`);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    // It has ended meanwhile.
    return code === "ENOENT" || code === "ESRCH" ? [] : undefined;
  }
}

async function statOf(file: string) {
  return await fs.stat(file).catch(() => undefined);
}
