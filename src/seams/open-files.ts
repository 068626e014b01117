/**
 * Which processes have a file open, in whatever container: the kernel lists the open files of each. A program that holds a
 * lock on a file, as etcd does on its database, has it open, so that this needs no lock of our own.
 */
import * as fs from "node:fs/promises";

/** Their IDs; undefined where this system does not tell. Those of other users are seen by root alone. */
export async function openedBy(file: string): Promise<readonly number[] | undefined> {
  const wanted = await statOf(file);
  if (wanted === undefined) return [];
  const processes = (await fs.readdir("/proc").catch(() => [])).filter((name) => /^\d+$/.test(name));
  if (processes.length === 0) return undefined;
  const users: number[] = [];
  for (const pid of processes) {
    const files = `/proc/${pid}/fd`;
    // It has ended meanwhile, or is another user's.
    for (const fd of await fs.readdir(files).catch(() => [])) {
      const open = await statOf(`${files}/${fd}`);
      if (open?.ino !== wanted.ino || open.dev !== wanted.dev) continue;
      users.push(Number(pid));
      break;
    }
  }
  return users;
}

async function statOf(file: string) {
  return await fs.stat(file).catch(() => undefined);
}
