/**
 * An operator that alone cannot see into etcd (H16), on a real API server with real etcd: nothing reaches the members'
 * client ports any more, or etcd refuses it since authentication was enabled. The Pods are Ready all along.
 */
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import type { Pass } from "../../src/control/loop.ts";
import { EtcdClient } from "../../src/etcd/client.ts";
import { GrpcTransport } from "../../src/etcd/grpc/transport.ts";
import { IdleConnections } from "../../src/http2/idle.ts";
import { overTheWire, type EtcdReach } from "../../src/operator/reach/reach.ts";
import { systemClock } from "../../src/seams/clock.ts";
import { RpcFailure } from "../../src/seams/etcd-transport.ts";
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
import { passwordOf } from "../support/passwords.ts";

let bed: TestTestbed;
let running: Running;
let cluster: ClusterOnBed;
let cut = false;
let latest: Pass | undefined;
const LOST_AFTER_MS = 6_000;

/** The way to etcd, on which nothing gets through while `cut`. */
function reach(): EtcdReach {
  const wire = overTheWire(systemClock, new IdleConnections(16));
  return {
    ...wire,
    transport: {
      unary: (call, endpoint, request, options) =>
        cut
          ? Promise.reject(new RpcFailure("UNAVAILABLE", "connect ETIMEDOUT", "not-sent"))
          : wire.transport.unary(call, endpoint, request, options),
      stream: (call, endpoint, options) => wire.transport.stream(call, endpoint, options),
      close: () => wire.transport.close(),
    },
  };
}

before(async () => {
  bed = await upWithDefinitions();
  running = startOperator(bed, { reach, hooks: { onPass: (pass) => void (latest = pass) } });
  cluster = new ClusterOnBed(bed, "demo", running);
  await cluster.create({ replicas: 3, repair: { unhealthyAfter: "3s", memberLostAfter: "6s" } });
  await cluster.converged(3);
});

after(async () => {
  await cluster?.close();
  await running?.stop();
  await bed?.down();
});

const podUIDs = async () => (await cluster.pods()).map(({ metadata }) => metadata?.uid ?? "").toSorted();

/** The operator has not seen the members for longer than it would wait for one that is lost. */
async function unreachableForLong(generation: number): Promise<void> {
  await eventually(
    "the operator has looked in vain for long",
    () => {
      const { now, members = [], cluster: seen } = latest?.observation ?? {};
      const since = members.map(({ unhealthySince }) => (now ?? 0) - (unhealthySince ?? now ?? 0));
      return Promise.resolve(
        (seen?.generation ?? 0) >= generation && since.every((ms) => ms > 2 * LOST_AFTER_MS),
      );
    },
    { withinMs: PATIENCE_MS },
  );
}

async function unknownTo(pattern: RegExp): Promise<void> {
  await eventually(
    "the status says that it is not known",
    async () => {
      const { conditions = [] } = await cluster.status();
      const reported = ["Quorate", "Available", "Degraded"].map((type) =>
        conditions.find((one) => one.type === type),
      );
      return reported.every(
        (one) => one?.status === "Unknown" && one.reason === "EtcdUnreachable" && pattern.test(one.message),
      );
    },
    { withinMs: PATIENCE_MS },
  );
}

test("what cannot be reached is not restarted for an edit, nor replaced; seen again, the edit is rolled out", async () => {
  const [before, steps] = [await podUIDs(), running.steps.length];
  cut = true;
  try {
    await unknownTo(/connect ETIMEDOUT.*containers are ready.*NetworkPolicy/);
    await cluster.edit({ options: { snapshotCount: 20_000 } });
    await unreachableForLong((await cluster.get()).metadata.generation ?? 0);
    assert.deepEqual(running.steps.slice(steps), []);
    assert.deepEqual(await podUIDs(), before);
    assert.equal((await cluster.status()).readyReplicas, 3);
    const seen = latest?.observation.members.map(({ seenByPeers }) => seenByPeers);
    assert.deepEqual(seen, [true, true, true], "by the real metrics of the peers");
  } finally {
    cut = false;
  }
  await eventually(
    "every member restarts",
    async () => (await podUIDs()).every((uid) => !before.includes(uid)),
    { withinMs: PATIENCE_MS },
  );
  await cluster.converged(3);
  await cluster.assertSound(3);
});

test("a person who approves it has one unseen member restarted with the edit, and no other", async () => {
  const before = await podUIDs();
  const path = `${PATHS.clusters}/demo`;
  const approve = async (what: string | null) =>
    await bed.client.patch(path, { metadata: { annotations: { "etcd.quorate.dev/approve": what } } });
  const uidOf = async (name: string) =>
    (await cluster.pods()).find(({ metadata }) => metadata?.name === name)?.metadata?.uid;
  const second = await uidOf("demo-2");
  cut = true;
  try {
    await unknownTo(/connect ETIMEDOUT/);
    await cluster.edit({ options: { snapshotCount: 25_000 } });
    await unreachableForLong((await cluster.get()).metadata.generation ?? 0);
    assert.deepEqual(await podUIDs(), before);
    await approve("restart-demo-2");
    await eventually(
      "demo-2 is restarted",
      async () => {
        const uid = await uidOf("demo-2");
        return uid !== undefined && uid !== second;
      },
      { withinMs: PATIENCE_MS },
    );
    const others = (await podUIDs()).filter((uid) => before.includes(uid));
    assert.equal(others.length, 2, "nobody approved the others");
  } finally {
    cut = false;
    await approve(null);
  }
  await cluster.converged(3);
  await cluster.assertSound(3);
});

test("an edit that no member can start with, made while etcd is out of sight, reaches none of them and can be taken back", async () => {
  const [before, steps] = [await podUIDs(), running.steps.length];
  const client = await cluster.etcd();
  cut = true;
  try {
    await cluster.edit({ options: { extraArgs: { "tls-min-version": "bogus" } } });
    await unknownTo(/connect ETIMEDOUT/);
    await unreachableForLong((await cluster.get()).metadata.generation ?? 0);
    assert.deepEqual(running.steps.slice(steps), []);
    await client.kv.put("while", "blind", { timeoutMs: 30_000 });
    for (const endpoint of await cluster.endpoints())
      await client.maintenance.status(endpoint, { timeoutMs: 30_000 });
    await cluster.edit({ options: { extraArgs: null } });
  } finally {
    cut = false;
  }
  await cluster.converged(3);
  assert.deepEqual(await podUIDs(), before, "nobody was restarted for it");
  await cluster.assertSound(3);
});

test("etcd authentication enabled by hand: the operator lets itself in by its CA, reports it, and goes on with its work", async () => {
  const client = await cluster.etcd();
  await client.auth.userAdd("root", passwordOf("root"));
  await client.auth.roleAdd("root").catch(() => undefined); // Some versions have it from the start.
  await client.auth.userGrantRole("root", "root");
  const before = await podUIDs();
  const tls = await cluster.credentials();
  const endpoints = await cluster.endpoints();
  const transport = new GrpcTransport({ clock: systemClock, ...(tls && { tls }) });
  const root = new EtcdClient({
    transport,
    clock: systemClock,
    endpoints,
    credentials: { user: "root", password: passwordOf("root") },
  });
  await client.auth.enable();
  try {
    await eventually(
      "the status says that it was enabled by hand",
      async () => {
        const { conditions = [] } = await cluster.status();
        return conditions.some((one) => one.type === "AuthReady" && one.reason === "AuthEnabledByHand");
      },
      { withinMs: PATIENCE_MS },
    );
    // The common name of the operator's certificate (R40).
    assert.ok((await root.auth.userList()).includes("quorate-operator"));
    assert.deepEqual(await podUIDs(), before);
    await cluster.edit({ options: { snapshotCount: 30_000 } });
    await cluster.converged(3);
    assert.ok((await podUIDs()).every((uid) => !before.includes(uid)));
  } finally {
    root.setEndpoints(await cluster.endpoints());
    await root.auth.disable();
    await transport.close();
  }
  await cluster.assertSound(3);
});
