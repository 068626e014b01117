/**
 * Recovery from quorum loss on real etcd: two of three members lose their data while a client writes. The plan names the
 * third; nothing but its hash runs it; then every acknowledged write that reached the survivor is there.
 */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { describe, test } from "node:test";
import type { EtcdOperation } from "../../src/api/etcd-operation.ts";
import { API_VERSION } from "../../src/api/metadata.ts";
import { operations } from "../../src/local/operations.ts";
import type { Subject } from "../../src/local/verb.ts";
import { inspectDirectory } from "../../src/recovery/directory.ts";
import { systemDisk } from "../../src/seams/disk.ts";
import { CLUSTER, LocalCluster } from "../support/local-cluster.ts";
import { newestVersions } from "../support/etcd-versions.ts";
import { EVERY_CASE } from "../support/sample.ts";

const VERSION = "3.6.16";
const BUMP = 1_000_000_000;
const FINAL = new Set(["Succeeded", "Failed", "Rejected"]);

function subjectOf({ controller, files }: LocalCluster): Subject {
  const { platform, loop } = controller;
  return { platform, layout: files, disk: systemDisk, wake: () => loop.wake() } as unknown as Subject;
}

async function approve(local: LocalCluster, name: string, plan: string): Promise<EtcdOperation["status"]> {
  await operations.createOperation(subjectOf(local), {
    apiVersion: API_VERSION,
    kind: "EtcdOperation",
    metadata: { name },
    spec: { cluster: CLUSTER, recoverQuorum: { approve: plan } },
  });
  const status = async () =>
    (await local.controller.platform.operations.list()).operations.find(
      ({ metadata }) => metadata.name === name,
    )?.status;
  await local.until(`${name} ends`, async () => FINAL.has((await status())?.phase ?? ""), 120_000);
  return await status();
}

/** Writes until told to stop, and remembers what was acknowledged, with its revision. */
async function writer(local: LocalCluster) {
  const { kv } = await local.client();
  const acknowledged = new Map<string, number>();
  let stopped = false;
  const work = Array.from({ length: 4 }, async (_, lane) => {
    for (let i = 0; !stopped; i++) {
      const key = `w${lane}-${i}`;
      const answer = await kv.put(key, "x".repeat(200), { timeoutMs: 1_000 }).catch(() => undefined);
      if (answer) acknowledged.set(key, Number(answer.header.revision));
    }
  });
  const stop = async () => {
    stopped = true;
    await Promise.all(work);
    return acknowledged;
  };
  return { acknowledged, stop };
}

for (const version of EVERY_CASE ? newestVersions : [VERSION]) {
  describe(`two of three members lose their data, etcd ${version}`, () => {
    test("an approved plan brings back all that the survivor had, and nothing else does", async () => {
      await using local = await LocalCluster.start({ replicas: 3, version, tls: { mode: "Managed" } });
      const load = await writer(local);
      await local.until("writes are acknowledged", () => load.acknowledged.size > 200);
      const lost = local
        .view()
        .members.map(({ name }) => name)
        .filter((name) => name !== "demo-2");
      const subject = subjectOf(local);
      await Promise.all(lost.map((name) => operations.wipe(subject, name)));
      const acknowledged = await load.stop();

      await local.until("there is a plan", (_, { status }) => status.recovery !== undefined);
      const { status: told } = local.controller.loop.latest ?? {};
      const plan = told?.recovery;
      assert.ok(plan);
      assert.equal(plan.survivor, "demo-2");
      assert.deepEqual(
        plan.members.map(({ name, data }) => [name, data]),
        [
          ["demo-1", "Lost"],
          ["demo-2", "Found"],
          ["demo-3", "Lost"],
        ],
      );
      assert.match(
        told?.conditions?.find(({ type }) => type === "Quorate")?.message ?? "",
        /recover quorum demo/,
      );
      assert.ok((plan.lostRevisions?.least ?? 0) >= 0);

      const { data } = local.files.volume("demo-2");
      const wrong = await approve(local, "wrong", "0123456789abcdef");
      assert.deepEqual([wrong?.phase, wrong?.reason], ["Rejected", "PlanChanged"]);
      assert.equal(local.member("demo-2").workload.state, "running");
      const before = await inspectDirectory(systemDisk, data);
      const ca = readFileSync(`${local.files.pki}/ca-peer.crt`, "utf8");

      // What is known of the members may have become more since; a person approves what stands there now.
      const present = local.controller.loop.latest?.status.recovery;
      assert.equal(present?.survivor, "demo-2");
      const done = await approve(local, "right", present.plan);
      assert.equal(done?.phase, "Succeeded", `${done?.message}\n${local.story()}`);
      await local.settled();
      assert.deepEqual(await local.names(), ["demo-4", "demo-5", "demo-6"]);

      // Everything in the survivor's log is there, also what it had not heard to be committed.
      const { recovered } = (await local.store.cluster())?.marks ?? {};
      const rescued = recovered?.revision ?? 0;
      const inLog = before.state === "data" ? before.log.last.index - before.database.consistentIndex : -1;
      assert.ok(rescued >= plan.revision.least && rescued <= plan.revision.most, `${rescued}`);
      assert.ok(
        plan.revision.most - rescued <= 3,
        `of ${inLog} entries to replay, some were dropped: ${rescued}`,
      );
      const client = await local.client();
      const all = await client.kv.range("\0", { rangeEnd: "\0", keysOnly: true });
      const keys = new Set(all.kvs.map(({ key }) => Buffer.from(key).toString()));
      const missing = [...acknowledged].filter(([key, revision]) => revision <= rescued && !keys.has(key));
      assert.deepEqual(missing, [], "acknowledged writes that had reached the survivor");
      assert.ok(Number(all.header.revision) >= rescued + BUMP);
      await assert.rejects(async () => {
        const options = { startRevision: BigInt(rescued + 1), signal: AbortSignal.timeout(10_000) };
        for await (const _ of client.watches.watch("w0-1", options));
      }, /compacted/);

      // Former members are no siblings, and what they left is as it was.
      const after = await inspectDirectory(systemDisk, data);
      assert.ok(before.state === "data" && after.state === "data");
      assert.deepEqual(after.log.last, before.log.last);
      assert.notEqual(told?.clusterID, local.controller.loop.latest?.status.clusterID);
      assert.notEqual(readFileSync(`${local.files.pki}/ca-peer.crt`, "utf8"), ca);
      const flags = local.children.map(({ member }) => member);
      assert.ok(!flags.includes("survivor"));

      // The plan was for that loss: it cannot be approved again.
      const again = await approve(local, "again", plan.plan);
      assert.deepEqual([again?.phase, again?.reason], ["Rejected", "QuorumNotLost"]);
    });
  });
}
