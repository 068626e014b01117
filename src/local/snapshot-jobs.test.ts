import assert from "node:assert/strict";
import { test } from "node:test";
import { writeResult, type JobResult } from "../snapshot/result.ts";
import { SnapshotJobs, type JobRequest } from "./snapshot-jobs.ts";
import { MemoryDisk, StillClock } from "./testing/memory.ts";
import { FakeProcesses } from "./testing/processes.ts";

const REQUEST: JobRequest = {
  name: "once-1234-save",
  uid: "u1",
  task: "save",
  attempt: 1,
  args: ["snapshot", "save", "file:///backups/"],
  deadlineSeconds: 600,
  folder: "file:///backups/",
};
const FILE = "/jobs/once-1234-save.result";
const DENIED: JobResult = { ok: false, reason: "StoreDenied", message: "no" };
const BROKEN: JobResult = { ok: false, reason: "StoreUnreachable", message: "nobody answers" };

function setting() {
  const [disk, clock, processes] = [new MemoryDisk(), new StillClock(), new FakeProcesses()];
  const program = { command: "/bin/quorate", args: ["main.ts"] };
  let events = 0;
  const jobs = new SnapshotJobs("/jobs", { disk, clock, processes, env: {} }, program, () => events++);
  const state = () => jobs.factsOf("u1")[0]?.state;
  const until = async (is: string) => {
    for (let turns = 0; state()?.is !== is; turns++) {
      assert.ok(turns < 1_000, `it is ${JSON.stringify(state())}, not ${is}`);
      await new Promise((resolve) => setImmediate(resolve));
    }
    return state();
  };
  const ends = async (result: JobResult | undefined, code: number) => {
    await until("running");
    if (result) await disk.write(FILE, writeResult(result));
    processes.end({ code });
  };
  return { disk, clock, processes, jobs, state, until, ends, events: () => events };
}

test("a process is started once for a Job, and what it wrote at its end is told", async () => {
  const { jobs, processes, until, ends } = setting();
  jobs.start(REQUEST);
  jobs.start(REQUEST);
  const snapshot = {
    object: "once.db",
    size: 5,
    storedSize: 5,
    sha256: "a",
    revision: 3,
    etcdVersion: "3.6.16",
    clusterID: "c",
    takenFrom: "demo-1",
  };
  await ends({ ok: true, snapshot }, 0);
  const done = await until("succeeded");
  assert.deepEqual(done?.is === "succeeded" && done.taken?.uri, "file:///backups/once.db");
  assert.equal(processes.spawned.length, 1);
  assert.deepEqual(processes.spawned[0]?.args, ["main.ts", ...REQUEST.args, "--result-file", FILE]);
});

test("what the store refuses ends it at once; what may pass is tried again three times", async () => {
  const denied = setting();
  denied.jobs.start(REQUEST);
  await denied.ends(DENIED, 4);
  const why = await denied.until("failed");
  assert.deepEqual(why?.is === "failed" && [why.reason, why.message, why.told], ["StoreDenied", "no", true]);
  const broken = setting();
  broken.jobs.start(REQUEST);
  for (let tries = 0; tries < 4; tries++) {
    await broken.ends(BROKEN, 3);
    if (tries === 3) break;
    const waits = await broken.until("waiting");
    assert.match((waits?.is === "waiting" && waits.why) || "", /nobody answers/);
    await new Promise((resolve) => setImmediate(resolve));
    broken.clock.advance(10_000 * 2 ** tries);
  }
  await broken.until("failed");
  assert.equal(broken.processes.spawned.length, 4);
});

test("one that says nothing has failed with where its log is", async () => {
  const { jobs, until, ends } = setting();
  jobs.start(REQUEST);
  await ends(undefined, 2);
  const why = await until("failed");
  assert.match(
    (why?.is === "failed" && why.message) || "",
    /without a result; see \/jobs\/once-1234-save\.log/,
  );
});

test("at its deadline it is stopped, by force if it does not end", async () => {
  const { jobs, clock, processes, until } = setting();
  jobs.start(REQUEST);
  await until("running");
  clock.advance(600_000);
  for (let turns = 0; processes.signals.length < 1 && turns < 100; turns++)
    await new Promise((resolve) => setImmediate(resolve));
  clock.advance(10_000);
  for (let turns = 0; processes.signals.length < 2 && turns < 100; turns++)
    await new Promise((resolve) => setImmediate(resolve));
  assert.deepEqual(processes.signals, ["SIGTERM", "SIGKILL"]);
  processes.end({ signal: "SIGKILL" });
  const why = await until("failed");
  assert.equal(why?.is === "failed" && why.reason, "DeadlineExceeded");
});

test("the process of a controller that was killed is waited for instead of starting another", async () => {
  const { jobs, processes, until, ends } = setting();
  processes.former = { argument: FILE, process: processes.process() };
  jobs.start({ ...REQUEST, task: "delete" });
  await ends({ ok: true }, 0);
  await until("succeeded");
  assert.deepEqual(processes.spawned, []);
});

test("the process of a snapshot that is gone is stopped, and nothing of it is told", async () => {
  const { jobs, processes, until, state } = setting();
  jobs.start(REQUEST);
  await until("running");
  const gone = jobs.keepOnly(new Set());
  for (let turns = 0; processes.signals.length < 1 && turns < 100; turns++)
    await new Promise((resolve) => setImmediate(resolve));
  processes.end({ signal: "SIGTERM" });
  await gone;
  assert.equal(state(), undefined);
});
