/**
 * The seams of a controller with every effect told: an effect is one write at a seam that came about, a
 * file written or removed, a process started or signalled, a change asked of etcd. What changes nothing (a
 * directory that was there, a file that was gone) is none.
 */
import type { Disk } from "../../src/seams/disk.ts";
import type { EtcdTransport } from "../../src/seams/etcd-transport.ts";
import type { Processes, RunningProcess } from "../../src/seams/processes.ts";

/** Called right after the effect and before its caller hears of it. */
export type OnEffect = (effect: string) => void;

export function tellDisk(disk: Disk, root: string, onEffect: OnEffect): Disk {
  const tell = (what: string, path: string) => onEffect(`${what} ${path.replace(`${root}/`, "")}`);
  return {
    ...disk,
    write: async (file, text, options) => {
      await disk.write(file, text, options);
      tell("write", file);
    },
    create: async (file, text) => {
      const made = await disk.create(file, text);
      if (made) tell("create", file);
      return made;
    },
    makeDirectory: async (directory) => {
      const before = await disk.stat(directory);
      await disk.makeDirectory(directory);
      if (before === undefined) tell("mkdir", directory);
    },
    rename: async (from, to) => {
      await disk.rename(from, to);
      tell("rename", from);
    },
    remove: async (target) => {
      const before = await disk.stat(target);
      await disk.remove(target);
      if (before !== undefined) tell("remove", target);
    },
  };
}

export function tellProcesses(processes: Processes, onEffect: OnEffect): Processes {
  const watched = (running: RunningProcess): RunningProcess => ({
    ...running,
    signal: (signal) => {
      const sent = running.signal(signal);
      if (sent) onEffect(`signal ${signal}`);
      return sent;
    },
  });
  return {
    ...processes,
    spawn: async (request) => {
      const running = await processes.spawn(request);
      onEffect(`spawn ${request.log.split("/").at(-1)?.replace(".log", "") ?? ""}`);
      return watched(running);
    },
    adopt: async (identity) => {
      const running = await processes.adopt(identity);
      return running && watched(running);
    },
  };
}

/** Calls that change a cluster; all others only ask. */
const CHANGES = new Set([
  "MemberAdd",
  "MemberPromote",
  "MemberRemove",
  "MemberUpdate",
  "MoveLeader",
  "Downgrade",
  "Compact",
  "Defragment",
]);

export function tellTransport(transport: EtcdTransport, onEffect: OnEffect): EtcdTransport {
  return {
    unary: async (call, endpoint, request, options) => {
      const answer = await transport.unary(call, endpoint, request, options);
      if (CHANGES.has(call.name)) onEffect(`etcd ${call.name}`);
      return answer;
    },
    stream: (call, endpoint, options) => transport.stream(call, endpoint, options),
    close: () => transport.close(),
  };
}
