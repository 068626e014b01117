/** The snapshot of the survivor's data, which an approved recovery makes and then begins anew from. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { decide } from "../decide.ts";
import type { Observation } from "../observation.ts";
import { change, edit } from "../testing/cluster.ts";
import { asking } from "../testing/operations.ts";
import { ending, hash, next, task, unread, until, world } from "../testing/quorum-loss.ts";

test("a rescue that goes on beside the steps is waited for, tried again, and ends the operation after three failures", () => {
  const rescue = until(asking(world, task), ({ kind }) => kind === "RescueData");
  const after = (state: "running" | "failed", attempt: number): Observation => ({
    ...rescue,
    platform: { ...rescue.platform, rescue: { plan: hash, attempt, state, why: "no space" } },
  });
  assert.equal(next(after("running", 1)), "nothing");
  assert.equal(decide(after("running", 1)).holds.at(-1)?.code, "RecoveryAwaitsRescue");
  const { act } = decide(after("failed", 1));
  assert.ok(act?.action.kind === "RescueData");
  assert.equal(act.action.attempt, 2);
  assert.deepEqual(ending(after("failed", 3)), ["Failed", "StepFailed"]);
});

test("a rescue that runs is never ended by time alone, and one that was made is never thrown away", () => {
  const rescue = until(asking(world, task), ({ kind }) => kind === "RescueData");
  const later = { ...unread(rescue, "demo-1"), now: rescue.now + 31 * 60_000 };
  const about = { plan: hash, attempt: 1, why: "etcd starts" };
  const running = {
    ...later,
    platform: { ...later.platform, rescue: { ...about, state: "running" as const } },
  };
  assert.equal(next(running), "nothing");
  assert.equal(decide(running).holds.at(-1)?.code, "RecoveryAwaitsRescue");
  const since = { state: "stopping", since: 1, lostNode: "node-c" } as const;
  const hangs = change(running, "demo-3", { workload: since });
  assert.equal(next(hangs), "nothing");
  assert.equal(decide(hangs).holds.at(-1)?.code, "RecoveryAwaitsNode");
  const rescued = { plan: hash, source: { file: { path: "/snapshot.db" } }, sha256: "ab", revision: 90 };
  const made = { ...later, platform: { ...later.platform, rescued } };
  assert.equal(next(made), "nothing");
  assert.equal(decide(made).holds.at(-1)?.code, "RecoveryReads");
  assert.deepEqual(ending(later), ["Failed", "StepFailed"], "it had not begun");
});

test("how long it takes is counted by the clock that its beginning was stored by", () => {
  const rescue = until(asking(world, task), ({ kind }) => kind === "RescueData");
  const later = (ms: number, aheadMs: number): Observation => ({
    ...unread(rescue, "demo-1"),
    now: rescue.now + aheadMs + ms,
    serverNow: rescue.now + ms,
  });
  const hour = 60 * 60_000;
  assert.equal(next(later(60_000, hour)), "nothing");
  assert.deepEqual(ending(later(31 * 60_000, -hour)), ["Failed", "StepFailed"]);
});

test("a rescue whose node does not answer is told with the way out, and ends when that lasts", () => {
  const rescue = until(asking(world, task), ({ kind }) => kind === "RescueData");
  const on = (state: "running" | "failed" | "stranded", o = rescue): Observation => {
    const about = { plan: hash, attempt: 1, why: "its node does not answer", lostNode: "node-a" };
    return { ...o, platform: { ...o.platform, rescue: { ...about, state } } };
  };
  const { code, next: remedy = "" } = decide(on("running")).holds.at(-1) ?? {};
  assert.equal(code, "RecoveryAwaitsRescuer");
  assert.match(remedy, /kubectl taint nodes node-a node\.kubernetes\.io\/out-of-service/);
  for (const o of [rescue, unread(rescue, "demo-1")]) {
    const { act } = decide(on("stranded", o));
    assert.ok(act?.action.kind === "UpdateOperation");
    assert.equal(act.action.status.phase, "Failed");
    assert.match(
      act.action.status.message ?? "",
      /node-a.*does not answer; no data was changed.*kubectl taint/,
    );
  }
  const { act } = decide(on("failed"));
  assert.ok(act?.action.kind === "RescueData", "a node that is off leaves the volume to another attempt");
});

test("the former members are not given up before the first new one could be made", () => {
  const mark = until(asking(world, task), ({ kind }) => kind === "MarkCluster");
  const refused = { ...mark, platform: { ...mark.platform, firstMemberRefused: "exceeded quota" } };
  assert.equal(next(refused), "nothing");
  const last = decide(refused).holds.at(-1);
  assert.equal(last?.code, "RecoveryAwaitsPlace");
  assert.match(last.message, /exceeded quota/);
  const later = { ...refused, now: refused.now + 31 * 60_000 };
  assert.equal(next(later), "nothing", "a person's waits for the person");
  const automatic = edit(later, { recovery: { quorumLoss: "Automatic" } });
  assert.deepEqual(ending(automatic), ["Failed", "StepFailed"], "nobody else starts the members again");
  const cancelled = { ...refused, operations: [] };
  assert.match(next(cancelled), /^wake demo-/, "there is a way back");
});

test("a Pod on a node that does not answer is waited for, with what a person can do about it", () => {
  const running = until(asking(world, task), ({ kind }) => kind === "StopWorkload");
  const workload = { state: "stopping", since: 1, lostNode: "node-a" } as const;
  const hangs = running.members.reduce((o, { record }) => change(o, record.name, { workload }), running);
  assert.equal(next(hangs), "nothing");
  assert.match(decide(hangs).holds.at(-1)?.next ?? "", /out-of-service/);
  assert.deepEqual(ending({ ...hangs, now: hangs.now + 31 * 60_000 }), ["Failed", "StepFailed"]);
});
