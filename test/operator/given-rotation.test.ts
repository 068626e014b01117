/** Another CA in the user's Secrets, on real etcd: members go over to it on both planes, and a writer is served throughout. */
import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import { after, before, test } from "node:test";
import type { Secret } from "kubernetes-types/core/v1.d.ts";
import { createPki } from "../../src/pki/issue.ts";
import { systemClock } from "../../src/seams/clock.ts";
import type { IssuedCertificate } from "../../src/seams/pki.ts";
import { systemRandom } from "../../src/seams/random.ts";
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
  const leaf = {
    commonName: name,
    sans: name === "my-operator" ? { dns: [], ips: [] } : { dns, ips: ["127.0.0.1"] },
    usages: ["serverAuth", "clientAuth"],
    lifeMs: 30 * DAY,
  } as const;
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

test("another CA in the user's Secrets is trusted by all, then used, then alone; data and members stay", async (t) => {
  const ca = await pki.issueCa({ commonName: "Our company", lifeMs: 100 * DAY });
  const next = await pki.issueCa({ commonName: "Another company", lifeMs: 100 * DAY });
  for (const name of SECRETS) await put(name, ca);
  const cluster = new ClusterOnBed(bed, "own", running);
  const secrets = { server: "my-server", operator: "my-operator" };
  await cluster.create({
    replicas: 3,
    tls: {
      mode: "Secrets",
      client: { secrets },
      peer: { secrets: { member: "my-peer" } },
      rotation: { soak: "1s" },
    },
  });
  await cluster.converged(3);
  const ids = (await cluster.status()).members?.map(({ id }) => id);
  const began = Date.now();
  for (const name of SECRETS) await put(name, next);
  await eventually(
    "every member trusts and has the new CA alone",
    async () => {
      for (const member of ["own-1", "own-2", "own-3"])
        for (const trust of ["client-ca.crt", "peer-ca.crt"])
          if ((await file(member, trust)) !== next.certificate) return false;
      return true;
    },
    { withinMs: 2 * PATIENCE_MS },
  );
  await cluster.converged(3);
  t.diagnostic(`rotated both CAs in ${((Date.now() - began) / 1000).toFixed(1)} s`);
  assert.equal(await cluster.condition("TLSReady"), "True/Issued");
  await cluster.assertSound(3);
  assert.deepEqual(
    (await cluster.status()).members?.map(({ id }) => id),
    ids,
    "the same members",
  );
  for (const [pem, from] of [
    ["server.pem", "my-server"],
    ["peer.pem", "my-peer"],
  ] as const)
    assert.ok((await file("own-2", pem)).startsWith(await file(from, "tls.crt")), pem);
  await cluster.close();
});
