/**
 * Peers from plaintext to TLS, another source of certificates, and another CA of it, on real etcd: members go over to it on
 * both planes.
 */
import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import { after, before, test } from "node:test";
import type { Secret } from "kubernetes-types/core/v1.d.ts";
import { createPki } from "../../src/pki/issue.ts";
import { systemClock } from "../../src/seams/clock.ts";
import type { IssuedCertificate, LeafSpec } from "../../src/seams/pki.ts";
import { systemRandom } from "../../src/seams/random.ts";
import { eventually } from "../../testbed/eventually.ts";
import type { TestTestbed } from "../../testbed/for-tests.ts";
import { PATHS } from "../support/kube-paths.ts";
import { assertNoLeakOnBed } from "../support/leaks.ts";
import { EVERY_CASE } from "../support/sample.ts";
import {
  ClusterOnBed,
  PATIENCE_MS,
  startOperator,
  upWithDefinitions,
  type Running,
} from "../support/operator.ts";

const pki = createPki(systemClock, systemRandom);
const DAY = 86_400_000;
const SECRETS = ["my-server", "my-operator", "my-peer"] as const;

let bed: TestTestbed;
let running: Running;

before(async () => {
  bed = await upWithDefinitions();
  running = startOperator(bed);
  await eventually("the operator leads", () => running.operator.leads);
});

after(async () => {
  await running?.stop();
  await bed?.down();
});

async function put(name: string, ca: IssuedCertificate): Promise<void> {
  const dns = ["own-client.default.svc", "*.own-peers.default.svc", "own-peers.default.svc", "*.default.svc"];
  const isOperator = name === "my-operator";
  const leaf: LeafSpec = {
    commonName: name,
    sans: isOperator ? { dns: [], ips: [] } : { dns, ips: ["127.0.0.1"] },
    usages: isOperator ? ["clientAuth"] : ["serverAuth", "clientAuth"],
    lifeMs: 30 * DAY,
  };
  const { certificate, key } = await pki.issueLeaf({ ca, leaf });
  const files = { "tls.crt": certificate, "tls.key": key, "ca.crt": ca.certificate };
  const data = Object.fromEntries(
    Object.entries(files).map(([file, text]) => [file, Buffer.from(text).toString("base64")]),
  );
  const metadata = { name, labels: { "etcd.quorate.dev/cluster": "own" } };
  await bed.client.delete(`${PATHS.secrets}/${name}`).catch(() => undefined);
  await bed.client.create(PATHS.secrets, { apiVersion: "v1", kind: "Secret", metadata, data });
}

async function file(secret: string, name: string): Promise<string> {
  const { data } = await bed.client.get<Secret>(`${PATHS.secrets}/${secret}`);
  return Buffer.from(data?.[name] ?? "", "base64").toString();
}

const MEMBERS = ["own-1", "own-2", "own-3"];

/** Whether these CAs, and no others, are in the files of every member. */
async function trustOnly(texts: readonly string[]): Promise<boolean> {
  for (const member of MEMBERS)
    for (const trust of ["client-ca.crt", "peer-ca.crt"])
      if (!texts.includes(await file(member, trust))) return false;
  return true;
}

/** By which schemes members listen. */
async function schemes(of: "peer" | "client" | "both" = "both"): Promise<string> {
  const configs = await Promise.all(MEMBERS.map((member) => file(member, "etcd.json")));
  const urls = configs.flatMap((text) => {
    const { "listen-peer-urls": peer = "", "listen-client-urls": client = "" } = JSON.parse(text) as Record<
      string,
      string
    >;
    return [...(of === "client" ? [] : [peer]), ...(of === "peer" ? [] : client.split(","))];
  });
  return [...new Set(urls.map((url) => new URL(url).protocol))].join();
}

test("from plaintext to the user's Secrets, and to another CA of theirs: trusted by all, then used, then alone", async (t) => {
  const ca = await pki.issueCa({ commonName: "Our company", lifeMs: 100 * DAY });
  const next = await pki.issueCa({ commonName: "Another company", lifeMs: 100 * DAY });
  for (const name of SECRETS) await put(name, ca);
  const cluster = new ClusterOnBed(bed, "own", running);
  const transition = { proceed: "After", after: "1s" };
  await cluster.create({ replicas: 3, tls: { mode: "Disabled", transition } });
  await cluster.converged(3);
  const ids = async () => (await cluster.status()).members?.map(({ id }) => id);
  const before = await ids();
  const then = async (what: string, change: () => Promise<unknown>, is: () => Promise<boolean>) => {
    const began = Date.now();
    await change();
    await eventually(what, is, { withinMs: 2 * PATIENCE_MS });
    await cluster.converged(3);
    t.diagnostic(`${what}: ${((Date.now() - began) / 1000).toFixed(1)} s`);
    assert.equal(await cluster.condition("TLSReady"), "True/Issued");
    assert.deepEqual(await ids(), before, "the same members");
  };
  assert.equal(await schemes(), "http:");
  const tls = {
    mode: "Secrets",
    rotation: { soak: "1s" },
    client: { secrets: { server: "my-server", operator: "my-operator" } },
    peer: { secrets: { member: "my-peer" } },
  };
  await then(
    "every member runs with the user's CA alone",
    () => cluster.edit({ tls }),
    async () => (await trustOnly([ca.certificate])) && (await schemes()) === "https:",
  );
  if (EVERY_CASE) {
    const change = async () => {
      for (const name of SECRETS) await put(name, next);
    };
    await then("every member runs with the other CA alone", change, () => trustOnly([next.certificate]));
    for (const [pem, from] of [
      ["server.pem", "my-server"],
      ["peer.pem", "my-peer"],
    ] as const)
      assert.ok((await file("own-2", pem)).startsWith(await file(from, "tls.crt")), pem);
    const inPlaintext = async () => {
      await then(
        "every member listens for peers in plaintext",
        () => cluster.edit({ tls: { peer: { mode: "Disabled", secrets: null } } }),
        async () => (await schemes("peer")) === "http:",
      );
    };
    await inPlaintext();
    await then(
      "every member runs with CAs of ours alone",
      () => cluster.edit({ tls: { mode: "Managed", client: null, peer: null } }),
      async () =>
        await trustOnly([await file("own-client-ca", "tls.crt"), await file("own-peer-ca", "tls.crt")]),
    );
    await inPlaintext();
  }
  await assertNoLeakOnBed(bed, running, "own");
  await cluster.close();
});
