/**
 * Whose connection it is that a proxy accepted: everything on this machine comes from 127.0.0.1, so the
 * process is looked up by its socket, as `ss -p` does. Works with encrypted traffic too.
 */
import { readdir, readFile, readlink } from "node:fs/promises";

export interface Candidate {
  readonly name: string;
  readonly pid: number;
}

/** The candidate that holds the socket from `port` to `toPort`; undefined where the system does not tell. */
export async function dialerOf(
  port: number,
  toPort: number,
  candidates: readonly Candidate[],
): Promise<string | undefined> {
  const inode = await inodeOf(port, toPort);
  if (inode === undefined) return undefined;
  for (const { name, pid } of candidates) {
    for (const descriptor of await readdir(`/proc/${pid}/fd`).catch(() => [])) {
      const target = await readlink(`/proc/${pid}/fd/${descriptor}`).catch(() => "");
      if (target === `socket:[${inode}]`) return name;
    }
  }
  return undefined;
}

/** Columns as in proc(5): local and remote address in hex, the inode the tenth. */
async function inodeOf(port: number, toPort: number): Promise<string | undefined> {
  const table = await readFile("/proc/net/tcp", "utf8").catch(() => "");
  const [from, to] = [hex(port), hex(toPort)];
  for (const line of table.split("\n").slice(1)) {
    const columns = line.trim().split(/\s+/);
    if (columns[1]?.endsWith(from) === true && columns[2]?.endsWith(to) === true) return columns[9];
  }
  return undefined;
}

function hex(port: number): string {
  return `:${port.toString(16).toUpperCase().padStart(4, "0")}`;
}
