/** Members that lose their Pod, their data or their record, and what becomes of them. */
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { eventually } from "../../testbed/eventually.ts";
import { faults, type Faults } from "../../testbed/faults.ts";
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
let fault: Faults;
let running: Running;

before(async () => {
  bed = await upWithDefinitions();
  fault = faults(bed.name);
  running = startOperator(bed);
});

after(async () => {
  await running?.stop();
  await bed?.down();
});

/** Waits until a member of this name is no more and another is in its place. */
async function replaced(cluster: ClusterOnBed, name: string, size: number): Promise<string[]> {
  await eventually(`${name} is gone`, async () => !(await cluster.list(PATHS.members)).includes(name), {
    withinMs: PATIENCE_MS,
  });
  await cluster.converged(size);
  await cluster.assertSound(size);
  return await cluster.list(PATHS.members);
}

describe("three members with volumes", () => {
  let cluster: ClusterOnBed;
  before(async () => {
    cluster = new ClusterOnBed(bed, "demo", running);
    await cluster.create({ replicas: 3 });
    await cluster.converged(3);
  });
  after(() => cluster.close());

  test("a deleted Pod comes back as the same member, and nothing acknowledged is lost", async () => {
    await using checker = await OperatorChecker.start(cluster);
    const before = await cluster.members();
    const uid = (await cluster.pods()).find(({ metadata }) => metadata?.name === "demo-2")?.metadata?.uid;
    await cluster.deletePod("demo-2");
    await eventually(
      "another Pod runs",
      async () => {
        const pod = (await cluster.pods()).find(({ metadata }) => metadata?.name === "demo-2");
        return pod?.metadata?.uid !== uid && pod?.status?.phase === "Running";
      },
      { withinMs: 60_000 },
    );
    await cluster.converged(3);
    const after = await cluster.members();
    assert.deepEqual(
      after.map(({ metadata, spec }) => [metadata.name, spec.memberID]),
      before.map(({ metadata, spec }) => [metadata.name, spec.memberID]),
    );
    await checker.judged();
    await cluster.assertSound(3);
  });

  test("a Pod that has ended for good is taken away and made anew on its volume", async () => {
    const before = (await cluster.members()).map(({ spec }) => spec.memberID);
    const uid = (await cluster.pods()).find(({ metadata }) => metadata?.name === "demo-3")?.metadata?.uid;
    await eventually(
      "another Pod runs",
      async () => {
        const pod = (await cluster.pods()).find(({ metadata }) => metadata?.name === "demo-3");
        // As a kubelet leaves a Pod that it has evicted; the stand-in, which has not, may write over it.
        if (pod?.metadata?.uid === uid)
          await bed.client.patch(`${PATHS.pods}/demo-3/status`, {
            status: { phase: "Failed", reason: "Evicted", message: "The node was low on memory." },
          });
        return pod?.metadata?.uid !== uid && pod?.status?.phase === "Running";
      },
      { withinMs: 60_000 },
    );
    await cluster.converged(3);
    assert.deepEqual(
      (await cluster.members()).map(({ spec }) => spec.memberID),
      before,
    );
  });

  test("H3: an emptied volume is not started over; the member is replaced, its volume deleted", async () => {
    await fault.loseVolume("default", "demo-2", "data");
    assert.deepEqual(await replaced(cluster, "demo-2", 3), ["demo-1", "demo-3", "demo-4"]);
    await cluster.gone(`${PATHS.claims}/data-demo-2`);
    assert.equal((await cluster.claims()).length, 3);
  });

  test("kubectl delete etcdmember of a live member: replaced, quorum-gated", async () => {
    await using checker = await OperatorChecker.start(cluster);
    await bed.client.delete(`${PATHS.members}/demo-1`);
    const names = await replaced(cluster, "demo-1", 3);
    assert.deepEqual(names, ["demo-3", "demo-4", "demo-5"]);
    await checker.judged();
  });

  test("Secrets, Services and the budget come back when somebody deletes or changes them", async () => {
    await bed.client.delete(`${PATHS.services}/demo-client`);
    await bed.client.delete(`${PATHS.budgets}/demo`);
    await bed.client.delete(`${PATHS.secrets}/demo-client-tls`);
    await bed.client.patch(`${PATHS.services}/demo-peers`, { spec: { publishNotReadyAddresses: false } });
    await eventually("all is as it was", async () => {
      await bed.client.get(`${PATHS.services}/demo-client`);
      await bed.client.get(`${PATHS.budgets}/demo`);
      await bed.client.get(`${PATHS.secrets}/demo-client-tls`);
      const peers = await bed.client.get<{ spec: { publishNotReadyAddresses: boolean } }>(
        `${PATHS.services}/demo-peers`,
      );
      return peers.spec.publishNotReadyAddresses;
    });
    await cluster.assertSound(3);
  });

  test("an authority that was deleted is reported, and never replaced by another", async () => {
    const path = `${PATHS.secrets}/demo-peer-ca`;
    const { metadata, ...rest } = await bed.client.get<{ metadata: Record<string, unknown> }>(path);
    await bed.client.delete(path);
    await eventually(
      "it is told",
      async () => (await cluster.condition("TLSReady")) === "False/CertificateProblem",
    );
    await assert.rejects(bed.client.get(path), "not made anew");
    await cluster.assertSound(3);
    const { name, namespace, labels, ownerReferences } = metadata;
    await bed.client.create(PATHS.secrets, {
      ...rest,
      metadata: { name, namespace, labels, ownerReferences },
    });
    await cluster.waitFor("TLSReady");
    await cluster.converged(3);
  });
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

  test("H4: a deleted Pod took its data along: another member joins in its place", async (t) => {
    await using checker = await OperatorChecker.start(cluster);
    const began = Date.now();
    await cluster.deletePod("cache-2");
    assert.deepEqual(await replaced(cluster, "cache-2", 3), ["cache-1", "cache-3", "cache-4"]);
    t.diagnostic(`replaced after ${Date.now() - began} ms`);
    await checker.judged();
    assert.deepEqual(await cluster.claims(), []);
  });

  test("one cluster that does not answer is reported so, and delays no other", async (t) => {
    const names = await cluster.list(PATHS.pods);
    for (const name of names) await fault.freeze("default", name);
    try {
      await cluster.waitFor("Available", "False");
      const other = new ClusterOnBed(bed, "other", running);
      const began = Date.now();
      await other.create({ replicas: 1 });
      await other.converged(1);
      t.diagnostic(`the other one was made in ${Date.now() - began} ms`);
    } finally {
      for (const name of names) await fault.thaw("default", name);
    }
    await cluster.waitFor("Available");
    await cluster.converged(3);
    await cluster.assertSound(3);
  });
});
