/**
 * CAs that expire under real etcd processes while no controller runs: nobody is let in any more, nothing is restarted that
 * could not come back, and the way out, to hibernate and to wake, keeps the data. It takes as long as the CAs live, so only
 * `npm run e2e -- --all` has it.
 */
import assert from "node:assert/strict";
import { X509Certificate } from "node:crypto";
import { readFileSync } from "node:fs";
import path from "node:path";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import type { EtcdClusterSpec } from "../../src/api/etcd-cluster-spec.ts";
import { findCondition } from "../../src/core/status/condition.ts";
import { text } from "../../src/etcd/convert.ts";
import { LocalCluster } from "../support/local-cluster.ts";
import { EVERY_CASE } from "../support/sample.ts";
import { isServed } from "../support/tls-clients.ts";
import { clientURLOf } from "../../src/core/config/flags.ts";

/** Less than a spec may ask for; a minute before its end a CA would be rotated, so the cluster has two to start. */
const SHORT = { leafLifetime: "1m", caLifetime: "3m" };

async function expires(): Promise<void> {
  let isShort = true;
  const unchecked = (spec: EtcdClusterSpec): EtcdClusterSpec =>
    isShort ? { ...spec, tls: { ...spec.tls, managed: SHORT } } : spec;
  const spec = { replicas: 3, version: "3.6.16", tls: { mode: "Managed" } } as const;
  await using local = await LocalCluster.start(spec, { unchecked });
  await (await local.client()).kv.put("kept", "yes");
  const read = (file: string) => readFileSync(path.join(local.files.pki, file), "utf8");
  const cas = () => [read("ca-client.crt"), read("ca-peer.crt")];
  const served = async () => {
    const pem = read("user.pem");
    const urls = (await local.records()).map(clientURLOf);
    return (await Promise.all(urls.map((url) => isServed(url, { pem })))).filter(Boolean).length;
  };
  const before = cas();
  assert.equal(await served(), 3);
  await local.crash();
  const end = Math.max(...before.map((pem) => Date.parse(new X509Certificate(pem).validTo)));
  await sleep(end + 1_000 - Date.now());
  assert.equal(await served(), 0, "members that run let nobody in");

  isShort = false;
  await local.open();
  local.run();
  const ready = () => findCondition(local.controller.loop.latest?.status.conditions, "Ready");
  await local.until("the expired CA is told", () => ready()?.reason === "CAExpired");
  assert.match(ready()?.message ?? "", /CA expired on .* Set spec\.replicas to 0, wait for/);
  await local.edit({ options: { snapshotCount: 20_000 } });
  const from = local.controller.loop.latest?.number ?? 0;
  await local.until("some looks later", (_, { number }) => number > from + 5);
  assert.equal(ready()?.reason, "CAExpired");
  assert.deepEqual(cas(), before);
  for (const name of await local.names())
    assert.equal(local.startsOf(name), 1, `${name} could not come back: ${local.story()}`);

  await local.edit({ replicas: 0 });
  const isReplaced = () => cas().every((pem, index) => pem !== before[index]);
  await local.until(
    "the cluster sleeps, with other CAs",
    () => ready()?.reason === "Hibernated" && isReplaced(),
  );
  await local.edit({ replicas: 3 });
  await local.settled();
  assert.equal(await served(), 3);
  const kept = await (await local.client()).kv.get("kept");
  assert.equal(kept && text(kept.value), "yes");
  assert.deepEqual(await local.names(), ["demo-1", "demo-2", "demo-3"], "the same members");
}

if (EVERY_CASE)
  test(
    "CAs that expired while no controller ran: members are left as they are, and hibernation replaces the CAs",
    expires,
  );
