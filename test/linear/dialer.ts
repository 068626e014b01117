/**
 * Whose connection it is that a proxy accepted: everything on this machine comes from 127.0.0.1, so the
 * process is looked up by its socket, as `ss -p` does. Works with encrypted traffic too.
 */
import { readdirSync, readFileSync, readlinkSync } from "node:fs";

export interface Candidate {
  readonly name: string;
  readonly pid: number;
}

/**
 * The candidate that holds the socket from `port` to `toPort`; undefined where the system does not tell. All
 * at once: a few hundred quick calls, and meanwhile a member waits for its connection.
 */
export function dialerOf(port: number, toPort: number, candidates: readonly Candidate[]): string | undefined {
  const inode = inodeOf(port, toPort);
  return candidates.find(({ pid }) => inode !== undefined && holds(pid, inode))?.name;
}

function holds(pid: number, inode: string): boolean {
  const directory = `/proc/${pid}/fd`;
  const descriptors = quietly(() => readdirSync(directory), []);
  const wanted = `socket:[${inode}]`;
  return descriptors.some((one) => quietly(() => readlinkSync(`${directory}/${one}`), "") === wanted);
}

/** Columns as in proc(5): local and remote address in hex, the inode the tenth. */
function inodeOf(port: number, toPort: number): string | undefined {
  const table = quietly(() => readFileSync("/proc/net/tcp", "utf8"), "");
  const row = new RegExp(`^\\s*\\d+: \\w+${hex(port)} \\w+${hex(toPort)} (.*)$`, "m").exec(table)?.[1];
  return row?.split(/\s+/)[6];
}

function hex(port: number): string {
  return `:${port.toString(16).toUpperCase().padStart(4, "0")}`;
}

/** Processes and descriptors come and go while one looks. */
function quietly<T>(look: () => T, otherwise: T): T {
  try {
    return look();
  } catch {
    return otherwise;
  }
}
