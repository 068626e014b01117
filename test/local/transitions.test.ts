/**
 * TLS changed on real etcd processes under a client that writes all the time: whom members serve changes only when that
 * was decided, and nobody who holds what the next phase needs is refused.
 */
import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import path from "node:path";
import { test } from "node:test";
import type { EtcdClusterSpecInput } from "../../src/api/etcd-cluster-spec.ts";
import { clientURLOf } from "../../src/core/config/flags.ts";
import { LocalCluster } from "../support/local-cluster.ts";
import { isServed, type Client } from "../support/tls-clients.ts";
import { assertExplained } from "../support/failed-writes.ts";
import { Writer } from "../support/writer.ts";

const SPEC = { replicas: 3, version: "3.6.16" } as const;
type TLS = NonNullable<EtcdClusterSpecInput["tls"]>;

const fileOf = (local: LocalCluster, name: string) => readFileSync(path.join(local.files.pki, name), "utf8");

async function servedBy(local: LocalCluster, client: Client): Promise<number> {
  const urls = (await local.records()).map(clientURLOf);
  const answers = await Promise.all(urls.map((url) => isServed(url, client)));
  return answers.filter(Boolean).length;
}

/** The wait of the change, once there is one of this code. */
async function waits(local: LocalCluster, code: string) {
  const found = () => local.controller.loop.latest?.decision.holds.find((hold) => hold.code === code);
  await local.until(code, () => found() !== undefined);
  return found();
}

/** Gaps are those of leader changes; a busy machine makes them longer. */
async function assertServed(client: Writer, local: LocalCluster): Promise<void> {
  const told = await client.stop();
  const restarts = local.done().filter((step) => step.startsWith("StopWorkload")).length;
  assertExplained(told.failed, restarts, local.story());
  assert.ok(told.longestGapMs < 5_000, `no write for ${told.longestGapMs} ms\n${local.story()}`);
  assert.ok(told.acknowledged > 300, `${told.acknowledged} writes`);
}

/** A client that reads where members are, and its files, again; in plaintext where they say so. */
function following(local: LocalCluster): Promise<Writer> {
  return Writer.start({
    endpoints: async () =>
      (await local.records()).map((record) => ({ name: record.name, url: clientURLOf(record) })),
    credentials: () => {
      if (!existsSync(path.join(local.files.pki, "user.pem"))) return Promise.resolve(undefined);
      const [ca, pem] = [fileOf(local, "ca-client.crt"), fileOf(local, "user.pem")];
      return Promise.resolve({ ca, cert: pem, key: pem });
    },
  });
}

test("clients from plaintext to TLS and back: both are served until it is approved", async () => {
  const plain: TLS = { mode: "Managed", client: { mode: "Disabled" } };
  await using local = await LocalCluster.start({ ...SPEC, tls: plain });
  await using client = await following(local);
  const counts = async () => [
    await servedBy(local, "plaintext"),
    await servedBy(local, "anonymous"),
    existsSync(path.join(local.files.pki, "user.pem"))
      ? await servedBy(local, { pem: fileOf(local, "user.pem") })
      : 0,
  ];
  const approve = async () => {
    const wait = await waits(local, "ClosingAwaitsApproval");
    assert.deepEqual(await counts(), [3, 0, 3], "both at once");
    await local.crash();
    await local.open();
    local.run();
    await local.controller.platform.store.updateCluster({ approved: wait?.approval?.word ?? "" });
    local.controller.loop.wake();
    await local.settled();
  };
  assert.deepEqual(await counts(), [3, 0, 0]);
  await local.edit({ tls: { mode: "Managed" } });
  await approve();
  assert.deepEqual(await counts(), [0, 0, 3]);
  await local.edit({ tls: plain });
  await approve();
  assert.deepEqual(await counts(), [3, 0, 0]);
  for (const name of await local.names()) assert.equal(local.startsOf(name), 5, "two rolls each way");
  await assertServed(client, local);
});

test("clientAuth None and back to Required: clients without a certificate are served until it is approved", async () => {
  await using local = await LocalCluster.start({ ...SPEC, replicas: 1, tls: { mode: "Managed" } });
  assert.equal(await servedBy(local, "anonymous"), 0);
  await local.edit({ tls: { mode: "Managed", clientAuth: "None" } });
  await local.settled();
  assert.equal(await servedBy(local, "anonymous"), 1);

  await local.edit({ tls: { mode: "Managed" } });
  const wait = await waits(local, "ClosingAwaitsApproval");
  assert.equal(await servedBy(local, "anonymous"), 1);
  await local.crash();
  await local.open();
  local.run();
  await local.controller.platform.store.updateCluster({ approved: wait?.approval?.word ?? "" });
  local.controller.loop.wake();
  await local.settled();
  assert.equal(await servedBy(local, "anonymous"), 0);
  assert.equal(await servedBy(local, { pem: fileOf(local, "user.pem") }), 1);
  for (const name of await local.names()) assert.equal(local.startsOf(name), 3, "one roll each way");
});
