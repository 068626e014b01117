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
const REPORT = "/jobs/once-1234-save.report";
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
  const signalled = (count: number) => turnsUntil(() => processes.signals.length >= count);
  return { disk, clock, processes, jobs, state, until, ends, signalled, events: () => events };
}

const pause = () => new Promise((resolve) => setImmediate(resolve));

async function turnsUntil(isSo: () => boolean): Promise<void> {
  for (let turns = 0; !isSo(); turns++) {
    assert.ok(turns < 1_000, "it did not come to be");
    await pause();
  }
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
  assert.deepEqual(processes.spawned[0]?.args, [
    "main.ts",
    ...REQUEST.args,
    "--result-file",
    FILE,
    "--report-file",
    REPORT,
  ]);
});

test("what the store refuses ends it at once; what may pass is tried again three times", async () => {
  const denied = setting();
  denied.jobs.start(REQUEST);
  await denied.ends(DENIED, 4);
  const why = await denied.until("failed");
  assert.deepEqual(why?.is === "failed" && [why.reason, why.message, why.reported], [
    "StoreDenied",
    "no",
    true,
  ]);
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
  const { jobs, clock, processes, until, signalled } = setting();
  jobs.start(REQUEST);
  await until("running");
  clock.advance(600_000);
  await signalled(1);
  clock.advance(10_000);
  await signalled(2);
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
  const { jobs, processes, until, state, signalled } = setting();
  jobs.start(REQUEST);
  await until("running");
  jobs.keepOnly(new Set());
  await signalled(1);
  processes.end({ signal: "SIGTERM" });
  await turnsUntil(() => state() === undefined);
});

test("a process that cannot even be killed holds nobody up: its Job is deleting until it has ended", async () => {
  const { jobs, clock, processes, until, state, signalled } = setting();
  jobs.start(REQUEST);
  await until("running");
  jobs.remove(REQUEST.name);
  jobs.keepOnly(new Set());
  await signalled(1);
  clock.advance(10_000);
  await signalled(2);
  clock.advance(10_000);
  await pause();
  assert.deepEqual(
    jobs.factsOf("u1").map(({ deleting, state: { is } }) => [deleting, is]),
    [[true, "running"]],
  );
  const closed = jobs.close();
  clock.advance(20_000);
  await closed;
  processes.end({ signal: "SIGKILL" });
  await turnsUntil(() => state() === undefined);
  assert.deepEqual(processes.signals, ["SIGTERM", "SIGKILL"]);
});

test("one that outlives its deadline and SIGKILL has failed, with what may be the cause", async () => {
  const { jobs, clock, until, signalled } = setting();
  jobs.start(REQUEST);
  await until("running");
  clock.advance(600_000);
  await signalled(1);
  clock.advance(10_000);
  await signalled(2);
  await pause();
  clock.advance(10_000);
  const why = await until("failed");
  assert.match(
    (why?.is === "failed" && `${why.reason} ${why.message}`) || "",
    /^DeadlineExceeded .*process 7 did not end within 10 s of SIGKILL/,
  );
});

test("before an object is deleted, the process of a killed controller that still writes it is ended", async () => {
  const { jobs, processes, until, state, signalled } = setting();
  processes.former = { argument: FILE, process: processes.process() };
  jobs.start({ ...REQUEST, name: "once-1234-delete", task: "delete", after: REQUEST.name });
  await signalled(1);
  const waits = state();
  assert.match((waits?.is === "waiting" && waits.why) || "", /^process 7, .*is stopped first$/);
  assert.deepEqual([processes.signals, processes.spawned], [["SIGTERM"], []]);
  processes.former = undefined;
  processes.end({});
  await until("running");
  assert.equal(processes.spawned.length, 1);
});
