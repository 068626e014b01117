/**
 * Both planes from plaintext to TLS and back on real etcd processes, under a client that writes all the time, with another
 * controller after every single step: members reach each other throughout, and clients are served throughout.
 */
import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import path from "node:path";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import type { EtcdClusterSpecInput } from "../../src/api/etcd-cluster-spec.ts";
import { clientURLOf, peerURLOf } from "../../src/core/config/flags.ts";
import { viewOf } from "../../src/core/view.ts";
import { LocalCluster } from "../support/local-cluster.ts";
import { sampledVersions } from "../support/sample.ts";
import { isServed, type Client } from "../support/tls-clients.ts";
import { assertExplained } from "../support/failed-writes.ts";
import { Writer } from "../support/writer.ts";

type TLS = NonNullable<EtcdClusterSpecInput["tls"]>;
const transition = { proceed: "After", after: "1s" } as const;
const PLAIN: TLS = { mode: "Disabled", transition };
const SECURE: TLS = { mode: "Managed", transition };

/** Passes until the cluster is as asked for; whoever did something does nothing more. */
async function byManyControllers(local: LocalCluster): Promise<void> {
  const end = performance.now() + 900_000;
  for (;;) {
    const before = local.steps.length;
    const { decision, observation, delayMs } = await local.pass();
    assertReachable(local);
    if (decision.converged && observation.cluster.generation === (await local.store.cluster())?.generation)
      return;
    assert.ok(performance.now() < end, local.story());
    // Hashes are remembered by whoever compared them, and nowhere else.
    if (local.steps.slice(before).some(({ step }) => step !== "CompareHashes")) {
      await local.crash();
      await local.open();
    } else await sleep(Math.min(delayMs, 100));
  }
}

/** A quorum serves at every look, and etcd lists nobody that we do not know. */
function assertReachable(local: LocalCluster): void {
  const { observation } = local.controller.loop.latest ?? {};
  if (!observation?.etcd.list) return;
  assert.deepEqual(viewOf(observation).unrecorded, [], local.story());
}

async function peersServe(local: LocalCluster, client: Client): Promise<number> {
  const urls = (await local.records()).map(peerURLOf);
  const answers = await Promise.all(urls.map((url) => isServed(url, client)));
  return answers.filter(Boolean).length;
}

function following(local: LocalCluster): Promise<Writer> {
  const fileOf = (name: string) => readFileSync(path.join(local.files.pki, name), "utf8");
  return Writer.start({
    endpoints: async () =>
      (await local.records()).map((record) => ({ name: record.name, url: clientURLOf(record) })),
    credentials: () => {
      if (!existsSync(path.join(local.files.pki, "user.pem"))) return Promise.resolve(undefined);
      const [ca, pem] = [fileOf("ca-client.crt"), fileOf("user.pem")];
      return Promise.resolve({ ca, cert: pem, key: pem });
    },
  });
}

for (const version of sampledVersions)
  test(`etcd ${version}: peers and clients from plaintext to TLS and back`, async (t) => {
    await using local = await LocalCluster.start({ replicas: 3, version, tls: PLAIN });
    await local.halt();
    await using client = await following(local);
    const listed = async () => {
      const { members } = await (await local.client()).cluster.memberList();
      return members.map(({ peerUrls }) => peerUrls.join()).toSorted();
    };
    const known = async () => (await local.records()).map(peerURLOf).toSorted();
    assert.deepEqual([await peersServe(local, "plaintext"), await peersServe(local, "anonymous")], [3, 0]);

    await local.edit({ tls: SECURE });
    await byManyControllers(local);
    assert.deepEqual([await peersServe(local, "plaintext"), await peersServe(local, "anonymous")], [0, 0]);
    const [name = ""] = await local.names();
    const pem = readFileSync(path.join(local.files.pki, `${name}-peer.pem`), "utf8");
    assert.equal(await peersServe(local, { pem }), 3);
    assert.deepEqual(await listed(), await known());
    assert.ok((await listed()).every((url) => url.startsWith("https:")));

    await local.edit({ tls: PLAIN });
    await byManyControllers(local);
    assert.equal(await peersServe(local, "plaintext"), 3);
    assert.deepEqual(await listed(), await known());
    assert.ok((await listed()).every((url) => url.startsWith("http:")));

    const updates = local.done().filter((step) => step.startsWith("UpdatePeerURL"));
    assert.equal(updates.length, 6, local.story());
    for (const one of await local.names())
      assert.ok(local.startsOf(one) <= 7, "three rolls each way at most");
    const told = await client.stop();
    assertExplained(told.failed, updates.length, local.story());
    // Gaps are those of leader changes; a busy machine makes them longer.
    t.diagnostic(`longest gap ${Math.round(told.longestGapMs)} ms of ${told.acknowledged} writes`);
    assert.ok(told.longestGapMs < 5_000, `no write for ${told.longestGapMs} ms\n${local.story()}`);
    assert.ok(told.acknowledged > 300, `${told.acknowledged} writes`);
  });
