/**
 * Certificates rotated on real etcd processes under a client that writes all the time: the CAs of both planes, and the
 * leaves alone; by a controller that ends after every step.
 */
import assert from "node:assert/strict";
import { X509Certificate } from "node:crypto";
import { readFileSync } from "node:fs";
import path from "node:path";
import { test } from "node:test";
import { clientURLOf } from "../../src/core/config/flags.ts";
import { trustOf } from "../../src/core/template/effective.ts";
import { splitBundle } from "../../src/pki/bundle.ts";
import { assertNoLeakOnMachine } from "../support/leaks.ts";
import { LocalCluster } from "../support/local-cluster.ts";
import { ask, ended, FINAL, find } from "../support/local-operations.ts";
import { EVERY_CASE } from "../support/sample.ts";
import { isServed } from "../support/tls-clients.ts";
import { servedStrangers } from "../support/strangers.ts";
import { assertExplained } from "../support/failed-writes.ts";
import { Writer } from "../support/writer.ts";

const SPEC = {
  replicas: 3,
  version: "3.6.16",
  tls: { mode: "Managed", rotation: { soak: "1s" } },
} as const;

const fileOf = (local: LocalCluster, name: string) => readFileSync(path.join(local.files.pki, name), "utf8");
const bundle = (local: LocalCluster, plane: string) => splitBundle(fileOf(local, `ca-${plane}.crt`));
const subject = (pem = "") => new X509Certificate(pem).subject;

/** As an application that reads its files again. */
function writer(local: LocalCluster): Promise<Writer> {
  return Writer.start({
    endpoints: async () =>
      (await local.records()).map((record) => ({ name: record.name, url: clientURLOf(record) })),
    credentials: () => {
      const [ca, pem] = [fileOf(local, "ca-client.crt"), fileOf(local, "user.pem")];
      return Promise.resolve({ ca, cert: pem, key: pem });
    },
  });
}

/** Another controller takes over after every step that begins a phase; with every case, after every step at all. */
async function continuedByOthers(local: LocalCluster, operation: string): Promise<void> {
  const isCut = (step: string) => EVERY_CASE || step === "RotateAuthority";
  const cuts = () => local.steps.filter(({ step, error }) => error === undefined && isCut(step)).length;
  const isOver = async () => FINAL.has((await find(local, operation))?.status?.phase ?? "");
  for (let seen = cuts(); ; seen = cuts()) {
    await local.until("the next phase", async () => cuts() > seen || (await isOver()));
    if (await isOver()) return;
    await local.crash();
    await local.open();
    local.run();
  }
}

test("CAs are rotated without a lost write by whichever controller, and leaves without a restart", async (t) => {
  await using local = await LocalCluster.start(SPEC);
  const before = { client: bundle(local, "client"), peer: bundle(local, "peer") };
  const oldUser = fileOf(local, "user.pem");
  const [first] = await local.records();
  for (const [plane, url] of [
    ["client", first && clientURLOf(first)],
    ["peer", first?.address.peerURL],
  ] as const) {
    const ca = { certificate: fileOf(local, `ca-${plane}.crt`), key: fileOf(local, `ca-${plane}.key`) };
    assert.deepEqual(await servedStrangers(url ?? "", ca), []);
  }
  await using client = await writer(local);
  const rounds = EVERY_CASE ? 5 : 1;
  for (let round = 1; round <= rounds; round++) {
    await ask(local, `rotate-${round}`, { rotateCertificates: { ca: true } });
    await continuedByOthers(local, `rotate-${round}`);
    const status = await ended(local, `rotate-${round}`);
    assert.equal(status.phase, "Succeeded", `${status.message}\n${local.story()}`);
    for (const plane of ["client", "peer"] as const) {
      await local.until("the old one is gone", () => bundle(local, plane).length === 1);
      const [now] = bundle(local, plane);
      assert.match(subject(now), new RegExp(`CN=demo ${plane} CA ${round + 1}$`), "another subject");
      assert.notEqual(now, before[plane][0]);
    }
  }
  for (const { name, template } of await local.records()) {
    assert.equal(local.startsOf(name), 1 + 2 * rounds, `${name} restarts twice a round`);
    assert.equal(trustOf(template, "client")?.length, 1);
    assert.equal(trustOf(template, "peer")?.length, 1);
  }
  const record = (await local.records())[0]!;
  const url = clientURLOf(record);
  assert.equal(await isServed(url, { pem: oldUser }), false, "a client with a certificate of the old CA");
  assert.equal(await isServed(url, { pem: fileOf(local, "user.pem") }), true);
  assert.equal(
    await isServed(record.address.peerURL, { pem: fileOf(local, "user.pem") }),
    false,
    "a client is no peer",
  );

  const files = ["demo-1-client.pem", "demo-2-peer.pem", "demo-3-client.pem", "user.pem", "controller.pem"];
  const issued = files.map((file) => fileOf(local, file));
  await ask(local, "reissue", { rotateCertificates: {} });
  assert.equal((await ended(local, "reissue")).phase, "Succeeded", local.story());
  await local.settled();
  for (const [index, file] of files.entries()) assert.notEqual(fileOf(local, file), issued[index], file);
  for (const name of await local.names()) assert.equal(local.startsOf(name), 1 + 2 * rounds);

  assertNoLeakOnMachine(local);
  const told = await client.stop();
  t.diagnostic(
    `${told.acknowledged} writes, ${Math.round(told.perSecond)} a second, longest gap ${Math.round(told.longestGapMs)} ms, ${told.failures.length} lost with a leader`,
  );
  // No peer's URL changes and leaders are moved before they restart: nothing is dropped on its way.
  assertExplained(told.failed, 0, local.story());
  assert.deepEqual(await told.missing(await local.client()), [], "what was acknowledged is there");
  const [mostMs, least] = EVERY_CASE ? [1_000, 100] : [15_000, 30];
  assert.ok(told.longestGapMs < mostMs, `no write for ${told.longestGapMs} ms\n${local.story()}`);
  assert.ok(told.perSecond >= least, `${told.perSecond} of 200 writes a second`);
});
