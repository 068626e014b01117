/**
 * Certificates that others make, on real etcd: from real cert-manager, which comes later than the cluster, and from
 * Secrets of the user. Whoever has another certificate, or none, is refused on both planes.
 */
import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import { connect, type TLSSocket } from "node:tls";
import { after, before, test } from "node:test";
import type { Secret } from "kubernetes-types/core/v1.d.ts";
import { EtcdClient } from "../../src/etcd/client.ts";
import { isEtcdError } from "../../src/etcd/errors.ts";
import { GrpcTransport } from "../../src/etcd/grpc/transport.ts";
import { NAMESPACED, verbsOf } from "../../src/operator/process/permissions.ts";
import { createPki } from "../../src/pki/issue.ts";
import { systemClock } from "../../src/seams/clock.ts";
import type { IssuedCertificate, LeafSpec } from "../../src/seams/pki.ts";
import { systemRandom } from "../../src/seams/random.ts";
import { eventually } from "../../testbed/eventually.ts";
import type { TestTestbed } from "../../testbed/for-tests.ts";
import { CERT_MANAGER, CertManager } from "../support/cert-manager.ts";
import { PATHS } from "../support/kube-paths.ts";
import { EVERY_CASE } from "../support/sample.ts";
import {
  ClusterOnBed,
  PATIENCE_MS,
  startOperator,
  upWithDefinitions,
  type Running,
} from "../support/operator.ts";

const DAY = 86_400_000;
const pki = createPki(systemClock, systemRandom);
const CA = { commonName: "Our company", lifeMs: 100 * DAY };
const SOON = { withinMs: PATIENCE_MS };

let bed: TestTestbed;
let running: Running;
let certManager: CertManager | undefined;

before(async () => {
  bed = await upWithDefinitions();
  running = startOperator(bed);
  await eventually("the operator leads", () => running.operator.leads);
});

after(async () => {
  await running?.stop();
  await certManager?.[Symbol.asyncDispose]();
  await bed?.down();
});

async function put(name: string, files: Record<string, string>, type = "Opaque"): Promise<void> {
  const encoded = Object.entries(files).map(([file, text]) => [file, Buffer.from(text).toString("base64")]);
  const data = Object.fromEntries(encoded) as Record<string, string>;
  // By this label a change of one that the spec of cluster own names is seen at once.
  const metadata = { name, labels: { "etcd.quorate.dev/cluster": "own" } };
  await bed.client.create(PATHS.secrets, { apiVersion: "v1", kind: "Secret", metadata, type, data });
}

async function file(secret: string, name: string): Promise<string> {
  const { data } = await bed.client.get<Secret>(`${PATHS.secrets}/${secret}`);
  return Buffer.from(data?.[name] ?? "", "base64").toString();
}

/** An issuer with a CA of its own. */
async function issuer(name: string): Promise<void> {
  const { certificate, key } = await pki.issueCa(CA);
  await put(`${name}-ca`, { "tls.crt": certificate, "tls.key": key }, "kubernetes.io/tls");
  const spec = { ca: { secretName: `${name}-ca` } };
  const object = { apiVersion: "cert-manager.io/v1", kind: "Issuer", metadata: { name }, spec };
  await bed.client.create(`${CERT_MANAGER}/issuers`, object);
}

const tlsReady = async (cluster: ClusterOnBed) =>
  (await cluster.status()).conditions?.find(({ type }) => type === "TLSReady");

test("a cluster waits for cert-manager and for its issuer, then each member has certificates of its own", async (t) => {
  const began = Date.now();
  const say = (what: string) => t.diagnostic(`${what}: ${((Date.now() - began) / 1000).toFixed(1)} s`);
  const cluster = new ClusterOnBed(bed, "cm", running);
  const tls = {
    mode: "CertManager",
    client: { certManager: { server: { name: "servers" }, operator: { name: "clients" } } },
    peer: { certManager: { member: { name: "peers" } } },
  };
  await cluster.create({ replicas: 3, tls });
  await eventually(
    "cert-manager is missed",
    async () => (await tlsReady(cluster))?.reason === "CertManagerMissing",
    SOON,
  );
  certManager = await CertManager.start(bed);
  await issuer("servers");
  await issuer("clients");
  await eventually(
    "the missing issuer is told",
    async () => {
      const { reason, message = "" } = (await tlsReady(cluster)) ?? {};
      assert.equal(reason, "CertificatePending", message);
      return /spec\.tls\.peer\.certManager\.member: .*Issuer peers/.test(message);
    },
    SOON,
  );
  say("two of three issuers");
  await issuer("peers");
  const { certificates = [] } = await cluster.converged(3);
  say("converged");
  assert.equal(await cluster.condition("TLSReady"), "True/Issued");
  await cluster.assertSound(3);
  assert.ok(certificates.some(({ name }) => name === "client CA"));
  assert.ok(certificates.some(({ name }) => name === "cm-2 peer"));

  const pods = async () => new Set((await cluster.pods()).map(({ metadata }) => metadata?.uid));
  const [started, shown] = [await pods(), await file("cm-1", "server.pem")];
  // cert-manager issues another one in its place.
  await bed.client.delete(`${PATHS.secrets}/cm-1-server-issued`);
  await eventually(
    "another certificate is with the member",
    async () => {
      const issued = await file("cm-1-server-issued", "tls.crt");
      const now = await file("cm-1", "server.pem");
      return now !== shown && now.startsWith(issued);
    },
    SOON,
  );
  say("reissued");
  assert.deepEqual(await pods(), started, "without a restart");
  await cluster.assertSound(3);

  if (EVERY_CASE) await followsItsIssuers(cluster, say);

  const used = running.calls.filter(({ resource }) => resource === "certificates").map(({ verb }) => verb);
  const granted = NAMESPACED.filter(({ group }) => group === "cert-manager.io").flatMap(verbsOf);
  for (const verb of new Set(used))
    assert.ok(granted.includes(verb === "apply" ? "patch" : (verb as "get")), verb);
  await cluster.delete();
  await eventually(
    "what cert-manager wrote is gone with the cluster",
    async () => {
      const { items } = await bed.client.get<{ items: Secret[] }>(PATHS.secrets);
      return !items.some(({ metadata }) => metadata?.name?.endsWith("-issued"));
    },
    SOON,
  );
  await cluster.close();
});

/** Issuers that have another CA; cert-manager itself would reissue what is due, in weeks. */
async function followsItsIssuers(cluster: ClusterOnBed, say: (what: string) => void): Promise<void> {
  await cluster.edit({ tls: { rotation: { soak: "1s" } } });
  await cluster.converged(3);
  for (const name of ["servers", "clients", "peers"]) {
    const { certificate, key } = await pki.issueCa({ ...CA, commonName: "Another company" });
    await bed.client.delete(`${PATHS.secrets}/${name}-ca`);
    await put(`${name}-ca`, { "tls.crt": certificate, "tls.key": key }, "kubernetes.io/tls");
  }
  const cas = await Promise.all(["servers", "clients", "peers"].map((name) => file(`${name}-ca`, "tls.crt")));
  for (const one of ["cm-1-server-issued", "cm-operator-issued", "cm-3-peer-issued"])
    await bed.client.delete(`${PATHS.secrets}/${one}`);
  const isFollowed = async () => {
    for (const member of ["cm-1", "cm-2", "cm-3"]) {
      const trusted = [await file(member, "client-ca.crt"), await file(member, "peer-ca.crt")];
      if (trusted[0]?.trim() !== cas[1]?.trim() || trusted[1]?.trim() !== cas[2]?.trim()) return false;
    }
    return true;
  };
  await eventually("every member trusts the CAs that the issuers have now, alone", isFollowed, {
    withinMs: 5 * PATIENCE_MS,
  });
  await cluster.converged(3);
  say("followed its issuers");
  assert.equal(await cluster.condition("TLSReady"), "True/Issued");
  const generations = await Promise.all(
    ["cm-client-ca", "cm-peer-ca"].map(async (name) => {
      const { metadata } = await bed.client.get<Secret>(`${PATHS.secrets}/${name}`);
      return JSON.parse(metadata?.annotations?.["etcd.quorate.dev/ca-rotation"] ?? "{}") as object;
    }),
  );
  for (const rotation of generations)
    assert.equal("generation" in rotation && rotation.generation, 2, "once");
}

test("certificates of the user are used as they are; other clients and peers are refused", async () => {
  const [ca, peerCA] = [await pki.issueCa(CA), await pki.issueCa(CA)];
  const leaf = async (by: IssuedCertificate, change: Partial<LeafSpec> = {}) => {
    const dns = [
      "own-client.default.svc",
      "*.own-peers.default.svc",
      "own-peers.default.svc",
      "*.default.svc",
    ];
    const usages = ["serverAuth", "clientAuth"] as const;
    const sans = { dns, ips: ["127.0.0.1"] };
    const made = await pki.issueLeaf({
      ca: by,
      leaf: { commonName: "own", sans, usages, lifeMs: 30 * DAY, ...change },
    });
    return { "tls.crt": made.certificate, "tls.key": made.key, "ca.crt": by.certificate };
  };
  const nameless = { sans: { dns: [], ips: [] }, usages: ["clientAuth"] } as const;
  await put("my-server", await leaf(ca));
  await put("my-operator", await leaf(ca, { ...nameless, commonName: "us" }));
  await put("my-peer", await leaf(peerCA));
  const cluster = new ClusterOnBed(bed, "own", running);
  const secrets = { server: "my-server", operator: "my-operator" };
  await cluster.create({
    replicas: 3,
    tls: { mode: "Secrets", client: { secrets }, peer: { secrets: { member: "my-peer" } } },
  });
  const status = await cluster.converged(3);
  assert.equal(await cluster.condition("TLSReady"), "True/Issued");
  assert.equal(status.clientSecret, undefined);
  assert.ok(status.warnings?.some((warning) => warning.startsWith("spec.tls.client: every certificate")));

  const [pod] = await cluster.pods();
  const host = pod?.status?.podIP ?? "";
  const servername = `${pod?.metadata?.name}.own-peers.default.svc`;
  const dial = async (credentials: Record<string, string> | undefined, scheme = "https") => {
    const given = credentials && {
      ca: ca.certificate,
      cert: credentials["tls.crt"] ?? "",
      key: credentials["tls.key"] ?? "",
    };
    const transport = new GrpcTransport({ clock: systemClock, tls: given ?? { ca: ca.certificate } });
    const endpoints = [{ name: "own", url: `${scheme}://${host}:2379`, serverName: servername }];
    const client = new EtcdClient({ transport, clock: systemClock, endpoints });
    try {
      // A member that is only slow has refused nothing.
      return await client.kv.get("x", { timeoutMs: 15_000 }).then(
        () => "served",
        (error: unknown) =>
          isEtcdError(error, "deadline", "request-timed-out") ? "no answer in time" : "refused",
      );
    } finally {
      await transport.close();
    }
  };
  const stranger = await pki.issueCa(CA);
  assert.equal(await dial(await leaf(ca, nameless)), "served");
  assert.equal(await dial(await leaf(stranger, nameless)), "refused", "of another CA");
  assert.equal(await dial(await leaf(peerCA, nameless)), "refused", "a peer is no client");
  assert.equal(await dial(undefined), "refused", "without a certificate");
  assert.equal(await dial(undefined, "http"), "refused", "in plaintext");

  const peers = async (by: IssuedCertificate, change: Partial<LeafSpec> = {}) => {
    const own = await leaf(by, change);
    return await shaken(host, 2380, { ca: peerCA.certificate, cert: own["tls.crt"], key: own["tls.key"] });
  };
  assert.equal(await peers(peerCA), "served");
  assert.equal(await peers(stranger), "refused", "of another CA");
  assert.equal(await peers(peerCA, nameless), "refused", "of the CA, without the name of a member");
  assert.equal(await shaken(host, 2380, { ca: peerCA.certificate }), "refused", "without a certificate");

  const uids = async () => new Set((await cluster.pods()).map(({ metadata }) => metadata?.uid));
  const [started, shown] = [await uids(), await file("own-1", "server.pem")];
  const good = await leaf(ca);
  const { "tls.key": _absent, ...keyless } = good;
  const past = createPki({ ...systemClock, now: () => systemClock.now() - 200 * DAY }, systemRandom);
  const old = await past.issueCa(CA);
  const former = await past.issueLeaf({
    ca: old,
    leaf: { commonName: "own", ...nameless, lifeMs: 30 * DAY },
  });
  const expired = { "tls.crt": former.certificate, "tls.key": former.key, "ca.crt": old.certificate };
  const bad: readonly [Record<string, string> | undefined, string, RegExp][] = [
    [keyless, "CertificateInvalid", /secrets\.server: Secret default\/my-server has no tls\.key/],
    [
      { ...good, "tls.key": (await leaf(ca))["tls.key"] },
      "CertificateInvalid",
      /secrets\.server: Secret default\/my-server, tls\.crt: .*does not match its private key/,
    ],
    [expired, "CertificateInvalid", /secrets\.server: Secret default\/my-server, .*CA that expired at/],
    [undefined, "SecretMissing", /secrets\.server: Secret default\/my-server does not exist/],
  ];
  for (const [files, reason, message] of bad) {
    await bed.client.delete(`${PATHS.secrets}/my-server`);
    if (files) await put("my-server", files);
    await eventually(
      `${String(message)} is told`,
      async () => {
        const told = await tlsReady(cluster);
        return told?.status === "False" && told.reason === reason && message.test(told.message ?? "");
      },
      SOON,
    );
    assert.equal(await file("own-1", "server.pem"), shown, "the last good one stays");
    assert.equal(await dial(await leaf(ca, nameless)), "served");
  }
  assert.deepEqual(await uids(), started, "no member was restarted");
  await put("my-server", await leaf(ca));
  await eventually(
    "the new certificate is with the member",
    async () => {
      const issued = await file("my-server", "tls.crt");
      return (await file("own-1", "server.pem")).startsWith(issued);
    },
    SOON,
  );
  await cluster.waitFor("TLSReady");
  await cluster.close();
});

/** Whether a server that demands certificates takes this one: with TLS 1.3 it says so only after the handshake. */
function shaken(
  host: string,
  port: number,
  tls: { ca: string; cert?: string; key?: string },
): Promise<string> {
  return new Promise((resolve) => {
    const socket: TLSSocket = connect({ host, port, ...tls, checkServerIdentity: () => undefined });
    socket.setTimeout(15_000, () => {
      resolve("no answer in time");
      socket.destroy();
    });
    socket.on("secureConnect", () => socket.write("GET /version HTTP/1.1\r\nHost: own\r\n\r\n"));
    socket.on("data", (answer) => {
      resolve(
        String(answer).startsWith("HTTP/1.1 200") ? "served" : `answered ${String(answer).slice(0, 40)}`,
      );
      socket.destroy();
    });
    socket.on("error", () => resolve("refused"));
    socket.on("close", () => resolve("refused"));
  });
}
