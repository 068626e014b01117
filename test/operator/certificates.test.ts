/**
 * Certificates that others make, on real etcd: from real cert-manager, which comes later than the cluster, and from
 * Secrets of the user. Whoever has another certificate, or none, is refused on both planes.
 */
import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import { X509Certificate } from "node:crypto";
import { request } from "node:https";
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
import { putSecret, secretFiles } from "../support/bed-secrets.ts";
import { CertManager, createIssuer, giveIssuer } from "../support/cert-manager.ts";
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
import { assertExplained } from "../support/failed-writes.ts";
import { Writer } from "../support/writer.ts";

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

const put = (name: string, files: Record<string, string>) => putSecret(bed, name, files, { cluster: "own" });
const file = async (secret: string, name: string) => (await secretFiles(bed, secret))(name);
/** With a CA of its own. */
const issuer = async (name: string) => await createIssuer(bed, name, await pki.issueCa(CA));

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

  await serversAreNoClients(cluster);

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

  const member = await file("cm-1", "peer.pem");
  const missing = /spec\.tls\.peer\.certManager\.member: .*Issuer nowhere/;
  await cluster.edit({ tls: { peer: { certManager: { member: { name: "nowhere" } } } } });
  await eventually(
    "the issuer that does not exist is told",
    async () => {
      const { status, reason, message = "" } = (await tlsReady(cluster)) ?? {};
      return status === "False" && reason === "CertificatePending" && missing.test(message);
    },
    SOON,
  );
  assert.equal(await file("cm-1", "peer.pem"), member, "members keep the certificates that they have");
  await cluster.assertSound(3);
  await cluster.edit({ tls: { peer: { certManager: { member: { name: "peers" } } } } });
  await cluster.waitFor("TLSReady");
  await cluster.converged(3);
  assert.deepEqual(await pods(), started, "nobody was restarted");
  say("an issuer that does not exist");

  if (EVERY_CASE) await followsItsIssuers(cluster, say);
  await assertNoLeakOnBed(bed, running, "cm");

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

/** The HTTP gateway dials its member with a certificate of its own, and what a member shows lets nobody in (R51). */
async function serversAreNoClients(cluster: ClusterOnBed): Promise<void> {
  const gateway = new X509Certificate(await file("cm-1-gateway-issued", "tls.crt"));
  assert.doesNotMatch(gateway.subject ?? "", /CN=/);
  assert.equal(gateway.subjectAltName, "DNS:cm-1-gateway.default.svc");
  assert.ok((await file("cm-1", "gateway.pem")).startsWith(await file("cm-1-gateway-issued", "tls.crt")));
  const shown = await file("cm-1", "server.pem");
  assert.deepEqual(new X509Certificate(shown).keyUsage, ["1.3.6.1.5.5.7.3.1"]);
  const [pod] = (await cluster.pods()).filter(({ metadata }) => metadata?.name === "cm-1");
  const range = async (cert: string, key: string) =>
    await posted({
      host: pod?.status?.podIP ?? "",
      servername: "cm-1.cm-peers.default.svc",
      ca: await file("cm-client-tls", "ca.crt"),
      cert,
      key,
    });
  const own = [await file("cm-client-tls", "tls.crt"), await file("cm-client-tls", "tls.key")] as const;
  assert.equal(await range(...own), 200, "the gateway serves a client");
  assert.equal(await range(shown, shown), "refused", "a server is no client");
}

/** The status of the answer of the HTTP gateway to a read. */
function posted(to: {
  host: string;
  servername: string;
  ca: string;
  cert: string;
  key: string;
}): Promise<number | "refused"> {
  return new Promise((resolve) => {
    const options = { ...to, port: 2379, path: "/v3/kv/range", method: "POST", agent: false } as const;
    const asked = request(options, (response) => {
      response.resume();
      response.on("end", () => resolve(response.statusCode ?? 0));
    });
    asked.setTimeout(15_000, () => asked.destroy());
    asked.on("error", () => resolve("refused"));
    asked.end(JSON.stringify({ key: Buffer.from("k").toString("base64") }));
  });
}

/** Issuers that have another CA, under an application; cert-manager itself would reissue what is due, in weeks. */
async function followsItsIssuers(cluster: ClusterOnBed, say: (what: string) => void): Promise<void> {
  await cluster.edit({ tls: { rotation: { soak: "5s" } } });
  await cluster.converged(3);
  const [endpoints, credentials] = [() => cluster.endpoints(), () => cluster.credentials()];
  await using application = await Writer.start({ endpoints, credentials });
  for (const name of ["servers", "clients", "peers"]) {
    await giveIssuer(bed, name, await pki.issueCa({ ...CA, commonName: "Another company" }));
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
  const told = await application.stop();
  const { acknowledged, longestGapMs } = told;
  say(`${acknowledged} writes, longest gap ${Math.round(longestGapMs)} ms`);
  // Leaders are moved before they restart, and no peer's URL changes: nothing is dropped on its way.
  assertExplained(told.failed, 0, running.steps.slice(-50).join("\n"));
  assert.deepEqual(await told.missing(await cluster.etcd()), [], "what was acknowledged is there");
  // A busy machine takes longer to elect.
  assert.ok(longestGapMs < 5_000, `no write for ${longestGapMs} ms`);
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
  const shownOnly = { usages: ["serverAuth"] } as const;
  await put("my-server", await leaf(ca, shownOnly));
  await put("my-gateway", await leaf(ca, { ...nameless, commonName: "" }));
  await put("my-operator", await leaf(ca, { ...nameless, commonName: "us" }));
  await put("my-peer", await leaf(peerCA));
  const cluster = new ClusterOnBed(bed, "own", running);
  const secrets = { server: "my-server", operator: "my-operator", gateway: "my-gateway" };
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

  const through = async (files: Record<string, string>) =>
    await posted({
      host,
      servername,
      ca: ca.certificate,
      cert: files["tls.crt"] ?? "",
      key: files["tls.key"] ?? "",
    });
  assert.equal(await through(await leaf(ca, nameless)), 200, "the gateway has a certificate of its own");
  assert.equal(await through(await leaf(ca, shownOnly)), "refused", "a server is no client");

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
  await assertNoLeakOnBed(bed, running, "own");
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
