/**
 * H12: defragmentation silences a member for as long as it takes to copy its database, liveness endpoint
 * included. A probe with little patience ends the member, and it begins anew.
 *
 * Reported were 10.3 s for 698 MB on 3.6.8. On a busy machine of two cores 243 MB on 3.6.16 took 5.9 s, which is
 * more than the 15 s per GiB that is expected, and well within the patience of three times that.
 */
import assert from "node:assert/strict";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { describe, test } from "node:test";
import type { EtcdClient } from "../../../src/etcd/client.ts";
import { livenessPatienceMs } from "../../../src/core/assess/liveness.ts";
import { ops } from "../../../src/etcd/kv.ts";
import { HttpProbe } from "../../../src/etcd/probe.ts";
import { eventually } from "../../../testbed/eventually.ts";
import { TestCluster, type TestMember } from "../../support/etcd-cluster.ts";
import { LocalCluster } from "../../support/local-cluster.ts";

const GIB = 1024 ** 3;
const VALUE = "v".repeat(4096);
const PER_TXN = 100;

describe("H12 liveness and defragmentation", { concurrency: 2 }, () => {
  test("fault, etcd 3.6.16: while a member is defragmented its /livez does not answer", async (t) => {
    await using cluster = await TestCluster.start({
      version: "3.6.16",
      members: 1,
      // Only the time to fill it; nothing here is about what a crash loses.
      args: ["--unsafe-no-fsync"],
    });
    const [member] = cluster.members as [TestMember];
    await fill(cluster.client(), 200);
    const { dbSize } = await cluster.client().maintenance.status(member.endpoint);
    assert.ok(dbSize > 80_000_000, `the database has ${dbSize} bytes`);

    const probe = new HttpProbe();
    t.after(() => probe.close());
    const began = performance.now();
    const queued = queuedMs(member.running.identity.pid);
    let ended: number | undefined;
    const defragmented = cluster
      .client()
      .maintenance.defragment(member.endpoint)
      .then(() => (ended = performance.now()));
    // The first probe that finds the database locked; it waits for as long as that lasts.
    let longest = 0;
    while (ended === undefined) {
      const asked = performance.now();
      assert.ok(await probe.alive(member.clientUrl, AbortSignal.timeout(60_000)));
      longest = Math.max(longest, performance.now() - asked);
    }
    await defragmented;
    const tookMs = (ended as number) - began;
    t.diagnostic(
      `defragmentation of ${dbSize} bytes: ${Math.round(tookMs)} ms, longest /livez ${Math.round(longest)} ms`,
    );
    assert.ok(longest > tookMs / 2, `the longest /livez took ${longest} ms of ${tookMs} ms`);

    // The rule's figure holds here: at full quota it would take less than the patience, without the time for which
    // others had all the cores.
    const ownMs = Math.max(0, tookMs - (queuedMs(member.running.identity.pid) - queued));
    for (const quotaBackendBytes of ["2Gi", "8Gi"]) {
      const bytes = Number.parseInt(quotaBackendBytes, 10) * GIB;
      const patience = livenessPatienceMs({ quotaBackendBytes });
      assert.ok((ownMs / dbSize) * bytes < patience, `${quotaBackendBytes}: ${ownMs} ms for ${dbSize}`);
    }
  });

  test("rule: a member that gives free pages back is not taken for dead", async () => {
    await using local = await LocalCluster.start({
      version: "3.6.16",
      replicas: 1,
      maintenance: { defrag: { freeAbove: "20Mi" } },
    });
    const client = await local.client();
    await fill(client, 100);
    const full = local.member("demo-1").answer;
    const { header } = await client.kv.delete("fill/", { prefix: true });
    await client.kv.compact(header.revision, { physical: true });
    await local.until("defragmented", () => local.done().includes("Defragment demo-1"));
    await eventually("smaller", async () => {
      const { answer } = local.member("demo-1");
      return await Promise.resolve(answer.reachable && answer.dbSize < 20 * 1024 ** 2);
    });
    assert.ok(full.reachable);
    assert.equal(local.startsOf("demo-1"), 1);
    const { workload } = local.member("demo-1");
    assert.ok(workload.state === "running" && workload.restarts === 0);
  });

  test("rule: a member that hangs is given the whole patience, then it is ended and started again", async () => {
    const hurry = 10;
    await using local = await LocalCluster.start({ version: "3.6.16", replicas: 3 }, { hurry });
    const [child] = local.children.filter(({ member }) => member === "demo-3");
    assert.ok(child);
    const began = performance.now();
    child.signal("SIGSTOP");
    await local.until("ended and started again", () => local.startsOf("demo-3") === 2);
    assert.ok((performance.now() - began) * hurry >= livenessPatienceMs({ quotaBackendBytes: "2Gi" }));
    await local.until("healthy", ({ healthyVoters }) => healthyVoters === 3);
  });
});

/** How long the threads of a process were ready to run and had no core; 0 where the kernel does not count it. */
function queuedMs(pid: number): number {
  const tasks = `/proc/${pid}/task`;
  if (!existsSync(`${tasks}/${pid}/schedstat`)) return 0;
  const waited = readdirSync(tasks).map((task) =>
    Number(readFileSync(`${tasks}/${task}/schedstat`, "utf8").split(" ")[1]),
  );
  return waited.reduce((sum, ns) => sum + ns, 0) / 1e6;
}

/** So many transactions of 400 KiB each, under `fill/`. */
async function fill(client: EtcdClient, transactions: number): Promise<void> {
  let next = 0;
  const work = async () => {
    for (let n = next++; n < transactions; n = next++) {
      const success = Array.from({ length: PER_TXN }, (_, i) => ops.put(`fill/${n}/${i}`, VALUE));
      await client.kv.txn({ compare: [], success, failure: [] });
    }
  };
  await Promise.all(Array.from({ length: 4 }, work));
}
