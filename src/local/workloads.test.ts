import assert from "node:assert/strict";
import { test } from "node:test";
import { recordOf } from "../core/testing/record.ts";
import { ManualClock, turn } from "../etcd/testing.ts";
import type { Disk } from "../seams/disk.ts";
import type { ProcessExit, ProcessIdentity, Processes } from "../seams/processes.ts";
import { layout } from "./layout.ts";
import type { RunFile } from "./run-file.ts";
import { Workloads } from "./workloads.ts";

const files = layout("/c");
const record = recordOf("3.6.16");

/** Processes that end when the test says so, and files in memory whose writes the test may hold up. */
function makeWorld(texts = new Map<string, string>(), alive: readonly number[] = []) {
  let end: (exit: ProcessExit) => void = () => undefined;
  let held: Promise<void> = Promise.resolve();
  const running = (identity: ProcessIdentity) => ({
    ...identity,
    exit: new Promise<ProcessExit>((resolve) => (end = resolve)),
    signal: () => true,
  });
  const processes: Processes = {
    spawn: () => Promise.resolve(running({ pid: 7, startTime: "boot/7" })),
    adopt: (identity) => Promise.resolve(alive.includes(identity.pid) ? running(identity) : undefined),
    isAlive: ({ pid }) => Promise.resolve(alive.includes(pid)),
    find: () => Promise.resolve([]),
    self: () => Promise.resolve({ pid: 1, startTime: "boot/1" }),
  };
  const disk = {
    list: (directory: string) =>
      Promise.resolve(
        [...texts.keys()]
          .filter((file) => file.startsWith(`${directory}/`))
          .map((file) => file.slice(directory.length + 1)),
      ),
    read: (file: string) => Promise.resolve(texts.get(file)),
    write: async (file: string, text: string) => {
      await held;
      texts.set(file, text);
    },
    remove: (file: string) => {
      texts.delete(file);
      return Promise.resolve();
    },
    makeDirectory: () => Promise.resolve(),
    stat: () => Promise.resolve(undefined),
    tail: () => Promise.resolve(""),
  } as unknown as Disk;
  const ports = { isFree: () => Promise.resolve(true), holder: () => Promise.resolve(undefined) };
  const seams = { disk, clock: new ManualClock(), processes, ports };
  const hold = (until: Promise<void>): void => {
    held = until;
  };
  return { seams, texts, hold, end: (exit: ProcessExit) => end(exit) };
}

function workloadsIn({ seams }: ReturnType<typeof makeWorld>): Workloads {
  return new Workloads(files, seams, {}, () => undefined);
}

function runFile(run: Partial<RunFile>): Map<string, string> {
  const known = { startedFrom: "x", startedAt: 0, restarts: 0, quickEnds: 0, ...run };
  return new Map([[files.runOf(record.name), JSON.stringify(known)]]);
}

test("a process that was being stopped and is gone by now has ended: nobody waits for it", async () => {
  const identity = { pid: 7, startTime: "boot/7" };
  const world = makeWorld(runFile({ identity, stoppingSince: 5 }));
  const workloads = workloadsIn(world);
  await workloads.load([record.name]);
  assert.equal(workloads.facts(record.name).state, "exited");
  await workloads.stop(record.name);
  assert.equal(workloads.facts(record.name).state, "absent");
  assert.equal(world.texts.size, 0);
});

test("a process that was being stopped and still runs goes on being stopped", async () => {
  const identity = { pid: 7, startTime: "boot/7" };
  const world = makeWorld(runFile({ identity, stoppingSince: 5 }), [7]);
  const workloads = workloadsIn(world);
  await workloads.load([record.name]);
  assert.equal(workloads.facts(record.name).state, "stopping");
  world.end({});
  await turn();
  assert.equal(workloads.facts(record.name).state, "absent");
});

test("a process that ends while its stop is being written leaves no file behind", async () => {
  const world = makeWorld();
  const workloads = workloadsIn(world);
  await workloads.start(record, "etcd");
  const slow = Promise.withResolvers<void>();
  world.hold(slow.promise);
  const stopping = workloads.stop(record.name);
  world.end({ signal: "SIGTERM" });
  await turn();
  slow.resolve();
  await stopping;
  await turn();
  assert.equal(workloads.facts(record.name).state, "absent");
  assert.deepEqual([...world.texts.keys()], []);
});

test("a process that was started again says how its last run ended", async () => {
  const world = makeWorld();
  const workloads = workloadsIn(world);
  await workloads.start(record, "etcd");
  world.end({ code: 1 });
  await turn();
  assert.equal(workloads.facts(record.name).state, "exited");
  await workloads.start(record, "etcd");
  const again = workloads.facts(record.name);
  assert.ok(again.state === "running");
  assert.deepEqual(again.lastEnd, { cause: "unknown", detail: "" });
});

test("after the directory was let go, the end of a process writes nothing there", async () => {
  const world = makeWorld();
  const workloads = workloadsIn(world);
  await workloads.start(record, "etcd");
  await workloads.detach();
  const before = world.texts.get(files.runOf(record.name));
  world.end({ signal: "SIGKILL" });
  await turn();
  assert.equal(world.texts.get(files.runOf(record.name)), before);
});
