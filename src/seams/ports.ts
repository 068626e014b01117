/**
 * TCP ports of this machine as a port: is one free, and if not, whose is it. Asking is a moment's truth;
 * who listens decides in the end, and then the exit reason tells.
 */
import { readdir, readFile, readlink } from "node:fs/promises";
import { createServer } from "node:net";

export interface PortHolder {
  readonly pid: number;
  readonly command: string;
}

export interface Ports {
  isFree(host: string, port: number): Promise<boolean>;
  /** The process that listens there, where the operating system tells this user. */
  holder(port: number): Promise<PortHolder | undefined>;
}

export const systemPorts: Ports = {
  isFree: (host, port) =>
    new Promise((resolve) => {
      const server = createServer();
      server.once("error", () => resolve(false));
      server.listen({ host, port, exclusive: true }, () => server.close(() => resolve(true)));
    }),
  holder: async (port) => {
    const inodes = new Set((await Promise.all(TABLES.map((table) => listening(table, port)))).flat());
    return inodes.size === 0 ? undefined : await owner(inodes);
  },
};

/** In words: `port 23790 is held by process 4711 (nginx)`. */
export function describeHolder(port: number, holder: PortHolder | undefined): string {
  return holder === undefined
    ? `port ${port} is in use by another process`
    : `port ${port} is in use by process ${holder.pid} (${holder.command})`;
}

const TABLES = ["/proc/net/tcp", "/proc/net/tcp6"];
const LISTEN = "0A";

/** Inodes of the sockets that listen on the port; columns as in proc(5). */
async function listening(table: string, port: number): Promise<string[]> {
  const hex = port.toString(16).toUpperCase().padStart(4, "0");
  const lines = (await quietly(readFile(table, "utf8"), "")).split("\n").slice(1);
  return lines.flatMap((line) => {
    const columns = line.trim().split(/\s+/);
    const [local, state, inode] = [columns[1], columns[3], columns[9]];
    return state === LISTEN && local?.endsWith(`:${hex}`) && inode !== undefined ? [inode] : [];
  });
}

async function owner(inodes: ReadonlySet<string>): Promise<PortHolder | undefined> {
  const pids = (await quietly(readdir("/proc"), [])).filter((name) => /^\d+$/.test(name));
  for (const pid of pids) {
    for (const descriptor of await quietly(readdir(`/proc/${pid}/fd`), [])) {
      const target = await quietly(readlink(`/proc/${pid}/fd/${descriptor}`), "");
      const inode = /^socket:\[(\d+)\]$/.exec(target)?.[1];
      if (inode === undefined || !inodes.has(inode)) continue;
      const command = (await quietly(readFile(`/proc/${pid}/comm`, "utf8"), "unknown")).trim();
      return { pid: Number(pid), command };
    }
  }
  return undefined;
}

/** Processes come and go while /proc is read, and others' are closed to us. */
async function quietly<T>(work: Promise<T>, otherwise: T): Promise<T> {
  try {
    return await work;
  } catch {
    return otherwise;
  }
}
