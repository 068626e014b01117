/**
 * A cluster that stands still for one reason after the other: `why` names the cause and what to do, and doing
 * it is what helps.
 */
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import type { Reason } from "../../src/core/status/why.ts";
import { etcdOf } from "../support/etcd-cluster.ts";
import { LocalCluster } from "../support/local-cluster.ts";
import { operations, subjectOf } from "../support/local-operations.ts";

const VERSION = "3.6.16";
const update = { strategy: "OnApproval" as const, canary: false };

let local: LocalCluster;

before(async () => {
  await etcdOf(VERSION);
  local = await LocalCluster.start({ version: VERSION, replicas: 3, update });
  await (await local.client()).kv.put("kept", "1");
});

after(async () => {
  await local?.[Symbol.asyncDispose]();
});

/** Waits until `why` gives this reason, and answers with it. */
async function stuck(reason: string): Promise<Reason> {
  await local.until(reason, (_view, { decision }) => decision.holds.some((hold) => hold.reason === reason));
  const { summary, reasons } = await operations.why(subjectOf(local));
  const found = reasons.find((candidate) => candidate.reason === reason);
  assert.ok(found, summary);
  assert.ok(summary.includes(found.message), `${summary} does not tell ${found.message}`);
  return found;
}

test("a rollout that waits for approval: with the hash that approves it", async () => {
  await local.edit({ options: { logLevel: "Warn" } });
  const { message, next } = await stuck("AwaitingApproval");
  assert.match(message, /a rollout is ready and waits for approval/);
  const hash = /quorate local approve ([0-9a-f]+)/.exec(next ?? "")?.[1];
  assert.ok(hash, next);
  await operations.approve(subjectOf(local), hash);
  await local.settled();
  assert.equal(local.config("demo-1")["log-level"], "warn");
});

test("a version that was never released", async () => {
  await local.edit({ version: "3.6.99" });
  const { message, next } = await stuck("VersionRefused");
  assert.match(message, /etcd 3\.6\.99 is not/);
  assert.match(next ?? "", /Set spec\.version/);
  await local.edit({ version: VERSION });
  await local.settled();
});

test("a pause", async () => {
  await local.edit({ paused: true });
  const { message, next } = await stuck("Paused");
  assert.match(message, /paused/);
  assert.match(next ?? "", /Set spec\.paused to false/);
  await local.edit({ paused: false });
  await local.settled();
});

test("a wiped member, and no replacement allowed", async () => {
  await local.edit({ repair: { maxReplacementsPerHour: 0 } });
  await local.settled();
  await local.wipe("demo-3");
  const { message, next } = await stuck("ReplacementBudget");
  assert.match(message, /demo-3 is not replaced \(it lost its data\)/);
  assert.match(next ?? "", /raise spec\.repair\.maxReplacementsPerHour/);
  await local.edit({ repair: { maxReplacementsPerHour: 4 } });
  await local.until("replaced", ({ members }) => members.every(({ name }) => name !== "demo-3"));
  await local.settled();
});

test("sleep", async () => {
  await local.edit({ replicas: 0 });
  const { message, next } = await stuck("Hibernated");
  assert.match(message, /the data of 3 members is retained/);
  assert.match(next ?? "", /Set spec\.replicas/);
  await local.edit({ replicas: 3 });
  await local.settled();
});

test("two of three wiped: quorum is lost for good", async () => {
  assert.ok(await (await local.client()).kv.get("kept"), "what was written before all this is there");
  await local.halt();
  for (const name of ["demo-1", "demo-2"]) await local.wipe(name);
  local.run();
  const { message, next } = await stuck("QuorumLost");
  assert.match(message, /demo-1, demo-2 lost their data/);
  assert.match(next ?? "", /recover from the data of demo-4: .*recover quorum demo --dir/);
});
