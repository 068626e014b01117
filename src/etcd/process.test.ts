import assert from "node:assert/strict";
import { test } from "node:test";
import type { Disk } from "../seams/disk.ts";
import type { ProcessExit, Processes, ProcessSignal } from "../seams/processes.ts";
import { EtcdProcess, explainExit, type ProcessWorld } from "./process.ts";
import { ManualClock, turn } from "./testing.ts";

/** A process that obeys the signals listed, and a log that the test writes. */
function makeWorld(obeys: readonly ProcessSignal[]) {
  const clock = new ManualClock();
  const signals: ProcessSignal[] = [];
  const files = new Map<string, string>();
  let end: (exit: ProcessExit) => void = () => undefined;
  const running = () => ({
    pid: 7,
    startTime: "boot/1",
    exit: new Promise<ProcessExit>((resolve) => (end = resolve)),
    signal: (signal: ProcessSignal) => {
      signals.push(signal);
      if (obeys.includes(signal)) end({ signal });
      return true;
    },
  });
  const processes: Processes = {
    spawn: () => Promise.resolve(running()),
    adopt: ({ pid }) => Promise.resolve(pid === 7 ? running() : undefined),
    isAlive: () => Promise.resolve(true),
    find: () => Promise.resolve([]),
    self: () => Promise.resolve({ pid: 1, startTime: "boot/0" }),
  };
  const disk = {
    stat: (file: string) =>
      Promise.resolve(files.has(file) ? { kind: "file", size: files.get(file)?.length ?? 0 } : undefined),
    tail: (file: string, bytes: number) => Promise.resolve((files.get(file) ?? "").slice(-bytes || Infinity)),
    rename: (from: string, to: string) => {
      files.set(to, files.get(from) ?? "");
      files.delete(from);
      return Promise.resolve();
    },
  } as unknown as Disk;
  const world: ProcessWorld = { clock, processes, disk };
  return { world, clock, signals, files, end: (exit: ProcessExit) => end(exit) };
}

const spec = { binary: "etcd", args: [], env: {}, cwd: "/", log: "etcd.log" };

test("a process that obeys SIGTERM is stopped by it", async () => {
  const { world, signals, clock } = makeWorld(["SIGTERM"]);
  const exit = await (await EtcdProcess.start(world, spec)).stop();
  assert.equal(exit.reason, "stopped");
  assert.ok(!signals.includes("SIGKILL"));
  assert.equal(clock.pending, 0);
});

test("a process that does not end in its grace time is killed", async () => {
  const { world, signals, clock } = makeWorld(["SIGKILL"]);
  const process = await EtcdProcess.start(world, spec);
  const stopping = process.stop({ graceMs: 2_000 });
  await clock.advance(1_999);
  assert.deepEqual(signals, ["SIGTERM", "SIGCONT"]);
  await clock.advance(1);
  assert.equal((await stopping).reason, "killed");
  assert.equal(process.exit?.reason, "killed");
});

test("waiting for service ends at once when the process does, with the reason from its log", async () => {
  const { world, files, end, clock } = makeWorld([]);
  files.set("etcd.log", "an earlier life: address already in use\n");
  const process = await EtcdProcess.start(world, spec);
  const waiting = process.ready(() => Promise.resolve(false));
  const rejected = assert.rejects(waiting, { name: "EtcdStartError", reason: "bad-flag" });
  await clock.advance(100);
  files.set("etcd.log", `${files.get("etcd.log")}flag provided but not defined: -nonsense\n`);
  end({ code: 2 });
  await rejected;
});

test("a process that runs but does not serve is reported with what it says", async () => {
  const { world, files, clock } = makeWorld([]);
  const process = await EtcdProcess.start(world, spec);
  files.set("etcd.log", '{"level":"error","msg":"request cluster ID mismatch"}\n');
  const rejected = assert.rejects(
    process.ready(() => Promise.reject(new Error("refused")), { timeoutMs: 500 }),
    {
      reason: "cluster-id-mismatch",
      exit: undefined,
    },
  );
  await clock.advance(600);
  await rejected;
});

test("an adopted process's end is explained from the last run in its log alone", async () => {
  const { world, files, end } = makeWorld([]);
  files.set(
    "etcd.log",
    [
      '{"level":"info","msg":"Running: "}',
      '{"level":"fatal","msg":"listen: address already in use"}',
      '{"level":"info","msg":"Running: "}',
      '{"level":"error","msg":"no space left on device"}',
    ].join("\n"),
  );
  const process = await EtcdProcess.adopt(world, { pid: 7, startTime: "boot/1" }, "etcd.log");
  await turn();
  end({});
  assert.deepEqual([(await process?.exited)?.reason, (await process?.exited)?.tail.length], ["disk-full", 2]);
  assert.equal(await EtcdProcess.adopt(world, { pid: 8, startTime: "boot/1" }, "etcd.log"), undefined);
});

test("a log that has grown too large is set aside before a start", async () => {
  const { world, files } = makeWorld([]);
  files.set("etcd.log", "x".repeat(17 * 1024 * 1024));
  await EtcdProcess.start(world, spec);
  assert.deepEqual([...files.keys()], ["etcd.log.1"]);
});

test("an end that was asked for is a stop even when nobody can say how it ended", () => {
  assert.equal(explainExit({}, ["nothing known"], true).reason, "stopped");
  assert.equal(explainExit({}, ["nothing known"], false).reason, "unknown");
});
