/**
 * Data that is gone, full or wrong: what is lost is said, what is full is cured as far as it can be, and what
 * differs is replaced, on each minor of etcd.
 */
import assert from "node:assert/strict";
import { test } from "node:test";
import { isEtcdError } from "../../src/etcd/errors.ts";
import { corruptDatabase } from "../../src/local/corrupt.ts";
import { sampledVersions } from "../support/sample.ts";
import { eventually } from "../../testbed/eventually.ts";
import { LocalCluster } from "../support/local-cluster.ts";
import { operations, subjectOf } from "../support/local-operations.ts";

test("all members wiped at once: status says that the data is gone, also to the next controller, and no empty cluster is started", async () => {
  await using local = await LocalCluster.start({ version: "3.6.16", replicas: 3 });
  await (await local.client()).kv.put("precious", "1");
  const names = await local.names();
  const started = local.children.length;

  // The machine loses its disks while nobody looks.
  await local.halt();
  for (const name of names) await local.wipe(name);
  local.run();
  await reported();
  await local.crash();
  await local.open();
  local.run();
  await reported();

  assert.equal(local.children.length, started, "nothing was started on the empty directories");
  assert.deepEqual(await local.names(), names);

  async function reported(): Promise<void> {
    await local.until("told", (_view, { decision }) =>
      decision.holds.some(({ reason }) => reason === "DataGone"),
    );
    const { cluster, converged } = await operations.status(subjectOf(local));
    assert.equal(converged, false);
    assert.match(cluster.status?.message ?? "", /data/i);
    const quorate = cluster.status?.conditions?.find(({ type }) => type === "Quorate");
    assert.equal(quorate?.status, "False");
    assert.equal(quorate?.reason, "DataGone");
    const { summary, reasons } = await operations.why(subjectOf(local));
    assert.match(summary, /all 3 voters lost their data/);
    assert.match(reasons.find(({ reason }) => reason === "DataGone")?.next ?? "", /Restore a snapshot/);
  }
});

test("a full quota of 16 MiB: blocked with the reason while live data fills it, writable again by itself after deletes", async () => {
  await using local = await LocalCluster.start({
    version: "3.6.16",
    replicas: 3,
    // Each write is committed at once: etcd looks at what is committed, and a fast disk takes a lot in a tenth of a second.
    options: { quotaBackendBytes: "16Mi", extraArgs: { "backend-batch-limit": "1" } },
  });
  const client = await local.client();
  const value = "x".repeat(512 * 1024);
  const written: string[] = [];
  // What etcd wastes is given back once or twice on the way; in the end the data itself fills the quota.
  for (;;) {
    try {
      await client.kv.put(`fill/${written.length}`, value);
      written.push(`fill/${written.length}`);
      assert.ok(written.length < 40, "more than the quota went in");
    } catch (error) {
      assert.ok(isEtcdError(error, "no-space"), String(error));
      const { observation } = await local.until(
        "cured, or blocked",
        (view, { decision }) =>
          decision.holds.some(({ reason }) => reason === "NoSpace") ||
          (decision.converged && view.observation.etcd.alarms.length === 0),
      );
      if (observation.etcd.alarms.length > 0) break;
    }
  }
  const { reasons } = await operations.why(subjectOf(local));
  const full = reasons.find(({ reason }) => reason === "NoSpace");
  assert.match(full?.message ?? "", /live data fills the quota/);
  assert.match(full?.message ?? "", /quota 16 MiB/);
  assert.match(full?.next ?? "", /Delete keys, or raise spec\.options\.quotaBackendBytes/);
  await assert.rejects(client.kv.put("more", "1"), (error) => isEtcdError(error, "no-space"));

  for (const key of written.slice(1)) await client.kv.delete(key);
  await eventually("writable", async () => (await client.kv.put("more", "1")).header.revision > 0n);
  const view = await local.settled();
  assert.deepEqual(view.observation.etcd.alarms, []);
  assert.equal((await client.kv.get("fill/0"))?.value.length, value.length, "what was not deleted is there");
  // How much is given back depends on how many keys were deleted by then: the first few may be enough for the cure.
  for (const { answer } of view.members)
    assert.ok(answer.reachable && answer.dbSize < 16 * 1024 ** 2, JSON.stringify(view.observation.etcd));
});

for (const version of sampledVersions) {
  test(`a flipped page in one member's database, etcd ${version}: that member, and only that one, is replaced`, async () => {
    await using local = await LocalCluster.start({ version, replicas: 3 });
    const client = await local.client();
    for (let i = 0; i < 20; i++) await client.kv.put(`key/${i}`, "value");
    const { leader } = await local.until("somebody leads", (view) => view.leader !== undefined);
    const victim = leader?.name ?? "";
    const others = (await local.names()).filter((name) => name !== victim);
    const from = local.steps.length;
    await corrupt(local, victim);
    await replaced(local, from, victim, others);
  });
}

test("a flipped page that etcd does not look for at its start is found by comparing hashes, and that member is replaced", async () => {
  const options = { corruptCheck: { initial: false, compactHash: false } };
  await using local = await LocalCluster.start({ version: "3.6.16", replicas: 3, options });
  const client = await local.client();
  for (let i = 0; i < 20; i++) await client.kv.put(`key/${i}`, "value");
  const [victim = "", ...others] = await local.names();
  const from = local.steps.length;
  await corrupt(local, victim);
  await replaced(local, from, victim, others);
  assert.ok(local.done(from).includes("CompareHashes"), local.story());
});

test("a corrupt member that runs alone keeps the good ones out only until one starts without etcd's check", async () => {
  await using local = await LocalCluster.start({ version: "3.7.3", replicas: 3 });
  const client = await local.client();
  for (let i = 0; i < 20; i++) await client.kv.put(`key/${i}`, "value");
  const [victim = "", ...others] = await local.names();
  const from = local.steps.length;
  const { platform, disk, layout } = subjectOf(local);
  // Committed everywhere, so that each of them compares what was damaged.
  for (const name of [victim, ...others])
    await client.maintenance.defragment(platform.endpoint(local.member(name).record));
  assert.ok((await corruptDatabase(disk, layout.volume(victim).database)) > 0);
  await Promise.all(others.map((name) => platform.workloads.kill(name, "SIGKILL")));
  await replaced(local, from, victim, others);
  assert.ok(
    local.done(from).some((step) => step.startsWith("UpdateMember/revert")),
    local.story(),
  );
});

/** etcd commits to its database only now and then, and what is only in the log cannot be damaged there: commit. */
async function corrupt(local: LocalCluster, victim: string): Promise<void> {
  const subject = subjectOf(local);
  const client = await local.client();
  await client.maintenance.defragment(subject.platform.endpoint(local.member(victim).record));
  const { text } = await operations.corrupt(subject, victim);
  assert.match(text, /of its database corrupted/);
}

async function replaced(
  local: LocalCluster,
  from: number,
  victim: string,
  others: readonly string[],
): Promise<void> {
  await local.until("gone", ({ members }) => members.every(({ name }) => name !== victim));
  const view = await local.settled();
  const names = view.members.map(({ name }) => name);
  assert.deepEqual(names, [...others, "demo-4"], local.story());
  assert.ok(view.members.every(({ isVoter, healthy }) => isVoter && healthy));
  const left = local.done(from).filter((step) => step.startsWith("UpdateMember/leave"));
  assert.deepEqual(left, [`UpdateMember/leave ${victim}`]);
  const client = await local.client();
  assert.equal((await client.kv.range("key/", { rangeEnd: "key0" })).kvs.length, 20);
}
