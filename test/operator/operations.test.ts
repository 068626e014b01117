/** EtcdOperations on a real API server: each kind, order, wrong targets, missing and deleted clusters. */
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { eventually } from "../../testbed/eventually.ts";
import type { TestTestbed } from "../../testbed/for-tests.ts";
import { PATHS } from "../support/kube-paths.ts";
import {
  ClusterOnBed,
  PATIENCE_MS,
  startOperator,
  upWithDefinitions,
  type Running,
} from "../support/operator.ts";
import { OperatorChecker } from "../support/operator-checker.ts";

let bed: TestTestbed;
let running: Running;

before(async () => {
  bed = await upWithDefinitions();
  running = startOperator(bed);
});

after(async () => {
  await running?.stop();
  await bed?.down();
});

const PATIENCE = { withinMs: PATIENCE_MS };

describe("three members", () => {
  let cluster: ClusterOnBed;
  const uids = async () =>
    new Map((await cluster.pods()).map(({ metadata }) => [metadata?.name ?? "", metadata?.uid]));

  before(async () => {
    cluster = new ClusterOnBed(bed, "demo", running);
    await cluster.create({ replicas: 3 });
    await cluster.converged(3);
  });
  after(() => cluster.close());

  test("a defragmentation visits every member, and says so step by step", async () => {
    await cluster.ask("defragment", { defragment: {} });
    const {
      steps = [],
      conditions = [],
      startedAt,
      completedAt,
    } = await cluster.operationIs("defragment", "Succeeded");
    assert.deepEqual(steps.map(({ member = "" }) => member).toSorted(), ["demo-1", "demo-2", "demo-3"]);
    assert.ok(Date.parse(startedAt ?? "") <= Date.parse(completedAt ?? ""));
    const ready = conditions.find(({ type }) => type === "Ready");
    assert.deepEqual([ready?.status, ready?.observedGeneration], ["True", 1]);
  });

  test("a compaction ends the history of a key", async () => {
    const { kv } = await cluster.etcd();
    for (const value of ["one", "two", "three"]) await kv.put("history", value);
    await cluster.ask("compact", { compact: { retain: 0 } });
    const { revision = 0 } = await cluster.operationIs("compact", "Succeeded");
    assert.ok(revision > 2, `compacted up to ${revision}`);
    await cluster.ask("compact-again", { compact: { revision: 1 } });
    assert.equal((await cluster.operationIs("compact-again", "Rejected")).reason, "RevisionCompacted");
  });

  test("leadership moves to the member that is named", async () => {
    const { leader, members = [] } = await cluster.status();
    const to = members.map(({ name }) => name).find((name) => name !== leader) ?? "";
    await cluster.ask("move", { moveLeader: { to } });
    await cluster.operationIs("move", "Succeeded");
    await eventually(
      "the status names the new leader",
      async () => (await cluster.status()).leader === to,
      PATIENCE,
    );
  });

  test("a report holds what the operator sees, and no key", async () => {
    await cluster.ask("report", { collectReport: {} });
    const { report = "" } = await cluster.operationIs("report", "Succeeded");
    const content = JSON.parse(report) as { members: { name: string }[] };
    assert.deepEqual(
      content.members.map(({ name }) => name),
      ["demo-1", "demo-2", "demo-3"],
    );
    assert.doesNotMatch(report, /PRIVATE KEY|BEGIN CERTIFICATE/);
  });

  test("a restart restarts each member once, one at a time, and nothing acknowledged is lost", async () => {
    await using checker = await OperatorChecker.start(cluster);
    const earlier = await uids();
    const stops = running.steps.length;
    await cluster.ask("restart", { restart: {} });
    const { steps = [] } = await cluster.operationIs("restart", "Succeeded");
    await cluster.converged(3);
    assert.equal(steps.length, 3);
    for (const [name, uid] of await uids()) assert.notEqual(uid, earlier.get(name), name);
    const stopped = running.steps.slice(stops).filter((step) => step.startsWith("StopWorkload"));
    assert.equal(stopped.length, 3, stopped.join("; "));
    await checker.judged();
    await cluster.assertSound(3);
  });

  test("two operations at once run in the order of their creation", async () => {
    await cluster.ask("first", { restart: { members: ["demo-1"] } });
    // Creation times have a resolution of seconds.
    const created = (await cluster.operation("first")).metadata.creationTimestamp;
    await eventually("the next second", () =>
      Promise.resolve(Date.now() > Date.parse(created ?? "") + 1_000),
    );
    await cluster.ask("second", { restart: { members: ["demo-2"] } });
    const second = await cluster.operationIs("second", "Succeeded");
    const { status: first } = await cluster.operation("first");
    assert.equal(first?.phase, "Succeeded");
    assert.ok(Date.parse(first?.completedAt ?? "") <= Date.parse(second.startedAt ?? ""));
  });

  test("a wrong target is rejected, and the message names the members", async () => {
    await cluster.ask("wrong", { replaceMember: { name: "demo-9" } });
    const { reason, message = "" } = await cluster.operationIs("wrong", "Rejected");
    assert.equal(reason, "UnknownMember");
    assert.match(message, /demo-9 is not a member .*demo-1, demo-2, demo-3/);
  });

  test("a replaced member is gone, and another one is in its place", async () => {
    await cluster.ask("replace", { replaceMember: { name: "demo-2" } });
    await cluster.operationIs("replace", "Succeeded");
    await cluster.converged(3);
    const members = await cluster.list(PATHS.members);
    assert.ok(!members.includes("demo-2") && members.length === 3, members.join());
    await cluster.assertSound(3);
  });

  test("one that waits is cancelled by its deletion, and a finished one is deleted after its time to live", async () => {
    await cluster.edit({ paused: true });
    const reason = async () => (await cluster.condition("Ready")).split("/")[1];
    await eventually("the pause to be seen", async () => (await reason()) === "Paused", PATIENCE);
    await cluster.ask("waits", { restart: {} });
    assert.equal((await cluster.operationIs("waits", "Pending")).reason, "Paused");
    await bed.client.delete(`${PATHS.operations}/waits`);
    await cluster.gone(`${PATHS.operations}/waits`);
    const earlier = await uids();
    await cluster.edit({ paused: false });
    await cluster.ask("short", { collectReport: {}, ttlSecondsAfterFinished: 1 });
    await cluster.gone(`${PATHS.operations}/short`);
    await cluster.converged(3);
    assert.deepEqual(await uids(), earlier, "the cancelled one did nothing");
  });

  test("the operations of a cluster are deleted with it", async () => {
    const left = async () => (await bed.client.get<{ items: unknown[] }>(PATHS.operations)).items.length;
    assert.ok((await left()) > 0);
    await cluster.edit({ storage: { retention: { onDelete: "Delete" } } });
    await cluster.delete();
    await cluster.gone(`${PATHS.clusters}/demo`);
    await eventually("no operation is left", async () => (await left()) === 0, PATIENCE);
  });
});

test("a cluster that is deleted in the midst of a restart takes the operation, its members and their Pods along", async () => {
  const cluster = new ClusterOnBed(bed, "midst", running);
  await cluster.create({ replicas: 3, storage: { size: "1Gi", retention: { onDelete: "Delete" } } });
  await cluster.converged(3);
  const from = running.steps.length;
  const did = (step: string) => running.steps.slice(from).some((one) => one.startsWith(step));
  await cluster.ask("interrupted", { restart: {} });
  await eventually("the first member stops", () => Promise.resolve(did("StopWorkload midst-")), PATIENCE);
  const { status } = await cluster.operation("interrupted");
  assert.equal(status?.phase, "Running");
  await cluster.delete();
  await cluster.gone(`${PATHS.clusters}/midst`);
  await cluster.gone(`${PATHS.operations}/interrupted`);
  for (const path of [PATHS.members, PATHS.pods, PATHS.claims])
    await eventually(
      `none of ${path} is left`,
      async () => (await cluster.list(path)).length === 0,
      PATIENCE,
    );
  await cluster.close();
});

describe("three members in memory", () => {
  let cluster: ClusterOnBed;
  before(async () => {
    cluster = new ClusterOnBed(bed, "cache", running);
    await cluster.create({
      replicas: 3,
      storage: { medium: "Memory", size: "128Mi" },
      options: { quotaBackendBytes: "32Mi" },
    });
    await cluster.converged(3);
  });
  after(() => cluster.close());

  test("a restart, which would lose the data, puts another member in the place of the one that is named", async () => {
    const { kv } = await cluster.etcd();
    await kv.put("kept", "in memory");
    await using checker = await OperatorChecker.start(cluster);
    await cluster.ask("restart-memory", { restart: { members: ["cache-2"] } });
    const { steps = [], message = "" } = await cluster.operationIs("restart-memory", "Succeeded");
    await cluster.converged(3);
    assert.match(message, /^Restarted or replaced cache-2/);
    assert.deepEqual(
      steps.map(({ member }) => member),
      ["cache-2"],
    );
    assert.deepEqual((await cluster.list(PATHS.members)).toSorted(), ["cache-1", "cache-3", "cache-4"]);
    await checker.judged();
    const { kv: later } = await cluster.etcd();
    assert.equal(Buffer.from((await later.get("kept"))?.value ?? "").toString(), "in memory");
    await cluster.assertSound(3);
  });
});

test("an operation that is created before its cluster waits for it, says so, and runs then", async () => {
  const cluster = new ClusterOnBed(bed, "later", running);
  await cluster.ask("early", { restart: {} });
  const { reason, message = "", conditions = [] } = await cluster.operationIs("early", "Pending");
  assert.equal(reason, "ClusterNotFound");
  assert.match(message, /later does not exist in namespace default/);
  assert.equal(conditions.find(({ type }) => type === "Reconciling")?.status, "True");
  await cluster.create({ replicas: 1, storage: { size: "1Gi", retention: { onDelete: "Delete" } } });
  await cluster.operationIs("early", "Succeeded");
  const { metadata } = await cluster.operation("early");
  assert.equal(metadata.ownerReferences?.[0]?.uid, (await cluster.get()).metadata.uid);
  await cluster.close();
});
