import assert from "node:assert/strict";
import { test } from "node:test";
import { writeResult } from "../snapshot/result.ts";
import { LocalFollowers, type FollowRequest } from "./followers.ts";
import { MemoryDisk, StillClock } from "./testing/memory.ts";
import { FakeProcesses } from "./testing/processes.ts";

const REQUEST: FollowRequest = {
  name: "nightly-1234-follow",
  schedule: "abcd",
  attempt: 1,
  recipe: "0123456789abcdef",
  args: ["snapshot", "follow", "file:///backups/"],
};
const REPORT = "/jobs/follow.abcd.1.0123456789abcdef.report";

function setting() {
  const [disk, clock, processes] = [new MemoryDisk(), new StillClock(), new FakeProcesses()];
  const program = { command: "/bin/quorate", args: ["main.ts"] };
  const followers = new LocalFollowers(
    "/jobs",
    { disk, clock, processes, env: {} },
    program,
    () => undefined,
  );
  const facts = () => followers.factsOf("abcd")[0];
  const until = async (isSo: () => boolean) => {
    for (let turns = 0; !isSo(); turns++) {
      assert.ok(turns < 1_000, `it is ${JSON.stringify(facts())}`);
      await new Promise((resolve) => setImmediate(resolve));
    }
  };
  return { disk, clock, processes, followers, facts, until };
}

test("a follower is one process, which reports in a file, and is gone when it was stopped", async () => {
  const { disk, processes, followers, facts, until } = setting();
  await followers.read();
  followers.start(REQUEST);
  followers.start(REQUEST);
  await until(() => facts()?.state.is === "running");
  assert.equal(processes.spawned.length, 1);
  assert.ok(processes.spawned[0]?.args.includes(REPORT));
  assert.equal(
    await disk.read(REPORT),
    "",
    "a controller that is killed now leaves what the next one finds it by",
  );
  await disk.write(REPORT, '{"state":"following","revision":7}');
  await followers.read();
  assert.deepEqual(facts()?.state, { is: "running", report: { state: "following", revision: 7 } });
  followers.stop(REQUEST.name);
  assert.equal(typeof facts()?.stoppingMs, "number");
  await until(() => processes.signals.length > 0);
  processes.end({ code: 0 });
  await until(() => facts() === undefined);
  assert.deepEqual(processes.signals, ["SIGTERM"]);
  assert.equal(await disk.read(REPORT), undefined);
});

test("one that ends is started again after a while, and how it ended is told meanwhile", async () => {
  const { disk, processes, followers, facts, until, clock } = setting();
  followers.start(REQUEST);
  await until(() => facts()?.state.is === "running");
  const result = "/jobs/nightly-1234-follow.result";
  await disk.write(result, writeResult({ ok: false, reason: "StoreDenied", message: "no" }));
  processes.end({ code: 4 });
  await until(() => facts()?.state.is === "waiting");
  assert.deepEqual(facts()?.state, { is: "waiting", why: "process 7 ended and is started again: no" });
  await disk.write(REPORT, '{"state":"following","revision":7}');
  clock.advance(5_000);
  await until(() => processes.spawned.length === 2);
  await followers.read();
  await until(() => facts()?.state.is === "running");
  assert.deepEqual(facts()?.state, { is: "running" }, "what the former one told is over");
  followers.keepOnly(new Set());
  processes.end({ code: 0 });
  await until(() => facts() === undefined);
});

test("the process of a controller that was killed is ended before another one is started", async () => {
  const { disk, processes, followers } = setting();
  await disk.write(REPORT, "{}");
  processes.former = { argument: REPORT, process: processes.process() };
  const read = followers.read();
  for (let turns = 0; processes.signals.length === 0; turns++) {
    assert.ok(turns < 1_000);
    await new Promise((resolve) => setImmediate(resolve));
  }
  processes.end({});
  await read;
  assert.deepEqual(processes.signals, ["SIGTERM"]);
  assert.equal(await disk.read(REPORT), undefined);
});
