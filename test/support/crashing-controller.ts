/**
 * A controller that dies by SIGKILL right after its n-th effect, for tests that enumerate crashes. Run as a
 * program: `crashing-controller.ts <directory> <n>`. An effect is one write at a seam: a file written, made,
 * renamed or removed, a process started or signalled, a changing call to etcd. Prints how many there were
 * when it converges before it dies.
 */
import process from "node:process";
import { Controller } from "../../src/local/controller.ts";
import { layout } from "../../src/local/layout.ts";
import { thisMachine } from "../../src/local/machine.ts";
import { systemClock } from "../../src/seams/clock.ts";
import type { Disk } from "../../src/seams/disk.ts";
import type { EtcdTransport } from "../../src/seams/etcd-transport.ts";
import type { Processes, RunningProcess } from "../../src/seams/processes.ts";
import { systemRandom } from "../../src/seams/random.ts";

const [dir = "", limit = "0"] = process.argv.slice(2);
const files = layout(dir);

let effects = 0;
function effect(what: string): void {
  effects++;
  if (effects !== Number(limit)) return;
  process.stdout.write(`${what}\n`);
  process.kill(process.pid, "SIGKILL");
}

/** Counts what changes something; the controller's own lock is not part of the cluster. */
function counting<A extends [string, ...unknown[]], R>(what: string, work: (...args: A) => Promise<R>) {
  return async (...args: A): Promise<R> => {
    const result = await work(...args);
    const target = args[0].replace(`${dir}/`, "");
    if (!args[0].startsWith(files.lock)) effect(`${what} ${target}`);
    return result;
  };
}

const machine = thisMachine({
  clock: systemClock,
  random: systemRandom,
  env: process.env,
  signal: new AbortController().signal,
});

const { disk, processes, transport } = machine.seams;
const removing = counting("remove", (target) => disk.remove(target));
const crashingDisk: Disk = {
  ...disk,
  write: counting("write", (...args) => disk.write(...args)),
  create: counting("create", (...args) => disk.create(...args)),
  rename: counting("rename", (...args) => disk.rename(...args)),
  // To remove what is not there changes nothing.
  remove: async (target) => {
    const there = await disk.stat(target);
    await (there === undefined ? disk.remove(target) : removing(target));
  },
};
const crashingProcesses: Processes = {
  ...processes,
  spawn: async (request) => {
    const child = await processes.spawn(request);
    effect("spawn");
    return signalling(child);
  },
  adopt: async (identity) => {
    const child = await processes.adopt(identity);
    return child && signalling(child);
  },
};
function signalling(child: RunningProcess): RunningProcess {
  const signal: RunningProcess["signal"] = (name) => {
    const sent = child.signal(name);
    effect(`signal ${name}`);
    return sent;
  };
  return { pid: child.pid, startTime: child.startTime, exit: child.exit, signal };
}
const CHANGING = new Set([
  "MemberAdd",
  "MemberPromote",
  "MemberRemove",
  "MoveLeader",
  "Compact",
  "Defragment",
  "Downgrade",
]);
const crashingTransport: EtcdTransport = {
  unary: async (call, endpoint, request, options) => {
    const answer = await transport.unary(call, endpoint, request, options);
    if (CHANGING.has(call.name)) effect(call.name);
    return answer;
  },
  stream: (call, endpoint, options) => transport.stream(call, endpoint, options),
  close: () => transport.close(),
};

const stop = new AbortController();
const controller = await Controller.open({
  ...machine,
  seams: { ...machine.seams, disk: crashingDisk, processes: crashingProcesses, transport: crashingTransport },
  layout: files,
  socket: "",
  onPass: ({ decision }) => (decision.converged ? stop.abort() : undefined),
});
await controller.run(stop.signal);
process.stdout.write(`converged after ${effects} effects\n`);
await controller.close({ stopMembers: false });
