/**
 * Every operation on real etcd processes: what it does, two at once, a wrong target, a cluster that is deleted meanwhile,
 * and a controller that is gone between any two of its steps.
 */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { EtcdOperationSpec } from "../../src/api/etcd-operation.ts";
import { LocalCluster } from "../support/local-cluster.ts";
import { ask, ended, FINAL, find } from "../support/local-operations.ts";

const VERSION = "3.6.16";
const TIMEOUT_MS = 90_000;

async function done(local: LocalCluster, name: string, task: Partial<EtcdOperationSpec>) {
  await ask(local, name, task);
  const status = await ended(local, name);
  assert.equal(status.phase, "Succeeded", `${name}: ${status.message}\n${local.story()}`);
  return status;
}

async function write(local: LocalCluster, count: number): Promise<void> {
  const { kv } = await local.client();
  for (let i = 0; i < count; i++) await kv.put("key", `value ${i} ${"x".repeat(1000)}`);
}

describe("on a cluster of three", () => {
  test("each operation does what it says, on real etcd", async () => {
    await using local = await LocalCluster.start({ replicas: 3, version: VERSION });
    const leader = () => local.view().leader?.name ?? "";

    const before = leader();
    const to = ["demo-1", "demo-2", "demo-3"].find((name) => name !== before) ?? "";
    await done(local, "move", { moveLeader: { to } });
    await local.until("the new leader is seen", (view) => view.leader?.name === to);
    const again = await done(local, "move-again", { moveLeader: { to } });
    assert.equal(again.reason, "AlreadyLeader");

    await write(local, 200);
    const compacted = await done(local, "compact", { compact: { retain: 10 } });
    const { kv } = await local.client();
    const old = (compacted.revision ?? 0) - 1;
    await assert.rejects(kv.get("key", { revision: BigInt(old) }), /compacted/);

    const tidied = await done(local, "tidy", { defragment: {} });
    assert.deepEqual(tidied.members?.at(-1), leader());
    assert.equal(tidied.steps?.length, 3);
    assert.equal(local.done().filter((step) => step.startsWith("Defragment ")).length, 3);

    const starts = local.startsOf("demo-2");
    await done(local, "restart-one", { restart: { members: ["demo-2"] } });
    assert.equal(local.startsOf("demo-2"), starts + 1);
    assert.equal(local.startsOf("demo-1"), 1);

    await done(local, "replace", { replaceMember: { name: "demo-3" } });
    assert.deepEqual(await local.names(), ["demo-1", "demo-2", "demo-4"]);

    const report = await done(local, "report", { collectReport: {} });
    const parsed = JSON.parse(report.report ?? "") as { members: unknown[] };
    assert.equal(parsed.members.length, 3);

    await write(local, 1);
    await local.settled();
  });

  test("a rolling restart keeps the quorum, hands leadership over, and happens once", async () => {
    await using local = await LocalCluster.start({ replicas: 3, version: VERSION });
    const last = local.view().leader?.name ?? "";
    const status = await done(local, "restart", { restart: {} });
    assert.equal(status.members?.at(-1), last);
    const steps = local.done();
    assert.ok(
      steps.findIndex((step) => step.startsWith("MoveLeader")) < steps.indexOf(`StopWorkload ${last}`),
    );
    await local.settled();
    for (const name of ["demo-1", "demo-2", "demo-3"]) assert.equal(local.startsOf(name), 2, name);
  });

  test("two at once run one after the other, and wrong targets are rejected with the reason", async () => {
    await using local = await LocalCluster.start({ replicas: 3, version: VERSION });
    await local.halt();
    await ask(local, "first", { restart: { members: ["demo-1"] } });
    await ask(local, "second", { defragment: {} });
    await ask(local, "wrong", { moveLeader: { to: "demo-9" } });
    await ask(local, "future", { compact: { revision: 1_000_000 } });
    local.run();
    const [first, second] = [await ended(local, "first"), await ended(local, "second")];
    assert.deepEqual([first.phase, second.phase], ["Succeeded", "Succeeded"]);
    assert.ok(Date.parse(first.completedAt ?? "") <= Date.parse(second.startedAt ?? ""));
    assert.equal((await ended(local, "wrong")).reason, "UnknownMember");
    assert.equal((await ended(local, "future")).reason, "RevisionInFuture");
  });

  test("a paused cluster lets operations wait, gives reports, and continues afterwards", async () => {
    await using local = await LocalCluster.start({ replicas: 3, version: VERSION });
    await local.edit({ paused: true });
    await ask(local, "waits", { defragment: { members: ["demo-1"] }, ttlSecondsAfterFinished: 0 });
    await ask(local, "cancelled", { restart: {} });
    await done(local, "report", { collectReport: {} });
    await local.until("it is told", async () => (await find(local, "waits"))?.status?.reason === "Paused");
    assert.ok(await local.controller.platform.operations.remove("cancelled"));
    await local.edit({ paused: false });
    await local.until("it is gone when it has ended", async () => (await find(local, "waits")) === undefined);
    await local.settled();
    assert.equal(local.startsOf("demo-1"), 1);
  });

  test("a cluster that is deleted takes its operations along", async () => {
    await using local = await LocalCluster.start({ replicas: 1, version: VERSION });
    await local.halt();
    await ask(local, "restart", { restart: {} });
    await local.store.updateCluster({ deleting: true });
    while ((await local.controller.loop.pass()) !== "gone");
    assert.deepEqual((await local.controller.platform.operations.list()).operations, []);
  });

  test("a cluster that is deleted in the midst of a restart takes it along, and all members end", async () => {
    await using local = await LocalCluster.start({ replicas: 3, version: VERSION });
    await local.halt();
    await ask(local, "restart", { restart: {} });
    await local.passUntilStep("StopWorkload");
    assert.equal((await find(local, "restart"))?.status?.phase, "Running");
    const stopped = local.steps.length;
    await local.store.updateCluster({ deleting: true });
    while ((await local.controller.loop.pass()) !== "gone");
    const asked = local.done(stopped).filter((step) => step.startsWith("UpdateMember/restart"));
    assert.deepEqual(asked, [], "no other member is restarted");
    assert.deepEqual((await local.controller.platform.operations.list()).operations, []);
    assert.deepEqual(await local.names(), []);
    assert.equal(await local.store.cluster(), undefined);
    await Promise.all(local.children.map((child) => child.exit));
  });
});

test("a controller that is gone between any two steps is followed by one that continues", async () => {
  await using local = await LocalCluster.start({ replicas: 3, version: VERSION });
  await local.halt();
  await ask(local, "tidy", { defragment: {} });
  await ask(local, "restart", { restart: { members: ["demo-2"] } });
  for (let lives = 0; lives < 60; lives++) {
    const phases = [await find(local, "tidy"), await find(local, "restart")].map((one) => one?.status?.phase);
    if (phases.every((phase) => phase === "Succeeded")) break;
    // One step in this life, two in the next: whatever a controller keeps in its memory alone is lost.
    const last = local.steps.length + 1 + (lives % 2);
    const end = performance.now() + TIMEOUT_MS;
    while (local.steps.length < last && performance.now() < end) {
      const { delayMs } = await local.pass();
      await new Promise((resolve) => setTimeout(resolve, Math.min(delayMs, 100)));
      if (FINAL.has((await find(local, "restart"))?.status?.phase ?? "")) break;
    }
    await local.crash();
    await local.open();
  }
  assert.equal((await find(local, "restart"))?.status?.phase, "Succeeded", local.story());
  assert.equal(local.startsOf("demo-2"), 2, "restarted once");
  for (const name of await local.names())
    assert.ok(local.done().filter((step) => step === `Defragment ${name}`).length <= 2, "again at most once");
});
