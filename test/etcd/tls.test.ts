/**
 * Our certificates on real etcd: three members with mTLS on both planes, who is refused (R44, R46, R49),
 * and leaves replaced on disk that etcd takes up without a restart (R45).
 */
import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rename, rm, writeFile } from "node:fs/promises";
import { Agent, request } from "node:https";
import { tmpdir } from "node:os";
import path from "node:path";
import { after, before, describe, test } from "node:test";
import type { TLSSocket } from "node:tls";
import { setTimeout as delay } from "node:timers/promises";
import { ensureEtcd } from "../../src/etcd/install/ensure.ts";
import { createPki } from "../../src/pki/issue.ts";
import { CA_LIFE_MS, LEAF_LIFE_MS, USAGES, judgeLeaf } from "../../src/pki/plan.ts";
import { memberSans } from "../../src/pki/sans.ts";
import { systemClock } from "../../src/seams/clock.ts";
import type { IssuedCertificate, KeyPair, Pki } from "../../src/seams/pki.ts";
import { systemRandom } from "../../src/seams/random.ts";
import { freePorts } from "../support/free-ports.ts";
import { outerVersions } from "../support/sample.ts";

const pki = createPki(systemClock, systemRandom);
const MINUTE = 60_000;
const { sans } = memberSans({ hosts: ["127.0.0.1", "localhost"] });
const noNames = { dns: [], ips: [] };

/** An issuer whose clock is behind, so that its leaves are near their end or past it. */
const issuerBehind = (ms: number): Pki =>
  createPki({ ...systemClock, now: () => systemClock.now() - ms }, systemRandom);
const newCa = (commonName: string) => pki.issueCa({ commonName, lifeMs: CA_LIFE_MS });
const memberLeaf = (ca: KeyPair, commonName: string, by = pki, lifeMs = LEAF_LIFE_MS, names = sans) =>
  by.issueLeaf({ ca, leaf: { commonName, sans: names, usages: USAGES.peer, lifeMs } });
const clientLeaf = (ca: KeyPair, by = pki, lifeMs = LEAF_LIFE_MS) =>
  by.issueLeaf({ ca, leaf: { commonName: "checker", sans: noNames, usages: USAGES.client, lifeMs } });

interface Member {
  name: string;
  dir: string;
  clientPort: number;
  peerPort: number;
  child?: ChildProcess;
}

interface Answer {
  status: number;
  body: string;
  /** Serial number of the certificate that the server showed. */
  serial: string;
}

/** One HTTPS request; a new handshake unless an agent is given. */
function call(
  port: number,
  ca: IssuedCertificate,
  client: KeyPair | undefined,
  url: string,
  options: { body?: object; agent?: Agent; timeoutMs?: number } = {},
): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const outgoing = request(
      {
        host: "127.0.0.1",
        port,
        path: url,
        method: options.body ? "POST" : "GET",
        agent: options.agent ?? false,
        ca: ca.certificate,
        ...(client && { cert: client.certificate, key: client.key }),
        signal: AbortSignal.timeout(options.timeoutMs ?? 20_000),
      },
      (response) => {
        const serial = (response.socket as TLSSocket).getPeerCertificate().serialNumber.toLowerCase();
        let body = "";
        response.setEncoding("utf8");
        response.on("data", (chunk: string) => (body += chunk));
        response.on("end", () => resolve({ status: response.statusCode ?? 0, body, serial }));
        response.on("error", reject);
      },
    );
    outgoing.on("error", reject);
    outgoing.end(options.body && JSON.stringify(options.body));
  });
}

/** The server refused the client: by an alert, or by closing before it could be read. */
const refusedByServer = (error: NodeJS.ErrnoException) => {
  assert.match(error.code ?? error.message, /^ERR_SSL_.*ALERT|^ECONNRESET$|^EPIPE$/);
  return true;
};
/** The client refused the server. */
const refusedByClient = (code: string) => ({ code });

async function eventually<T>(what: string, attempt: () => Promise<T>, limitMs = 60_000): Promise<T> {
  const end = Date.now() + limitMs;
  for (;;) {
    try {
      return await attempt();
    } catch (cause) {
      if (Date.now() > end) throw new Error(`not within ${limitMs} ms: ${what}`, { cause });
      await delay(50);
    }
  }
}

/** Certificate and key in one file, renamed into place: no reader sees a half-written or mismatched pair for long. */
async function install(file: string, leaf: KeyPair): Promise<void> {
  await writeFile(`${file}.new`, leaf.certificate + leaf.key, { mode: 0o600 });
  await rename(`${file}.new`, file);
}

for (const version of outerVersions) {
  // Outside the time limit below: on a cold cache this installs.
  const { etcd } = await ensureEtcd(version, { env: process.env, clock: systemClock });

  describe(`TLS on etcd ${version}`, { timeout: 120_000 }, () => {
    let root: string;
    let clientCa: IssuedCertificate;
    let peerCa: IssuedCertificate;
    let client: IssuedCertificate;
    const members: Member[] = [];
    const member = (i: number) => members[i] ?? assert.fail(`no member ${i}`);

    const serverFile = (m: Member) => path.join(m.dir, "server.pem");
    const peerFile = (m: Member) => path.join(m.dir, "peer.pem");
    const onClientPlane = (m: Member, as: KeyPair | undefined = client, timeoutMs?: number) =>
      call(m.clientPort, clientCa, as, "/health", timeoutMs === undefined ? {} : { timeoutMs });
    const onPeerPlane = (m: Member, as?: KeyPair) => call(m.peerPort, peerCa, as, "/version");
    const healthy = async (m: Member, timeoutMs?: number) => {
      const { status, body } = await onClientPlane(m, client, timeoutMs);
      assert.deepEqual([status, (JSON.parse(body) as { health: string }).health], [200, "true"]);
    };

    function start(m: Member): void {
      const peers = members.map((p) => `${p.name}=https://127.0.0.1:${p.peerPort}`).join(",");
      const flags = {
        name: m.name,
        "data-dir": path.join(m.dir, "data"),
        "listen-client-urls": `https://127.0.0.1:${m.clientPort}`,
        "advertise-client-urls": `https://127.0.0.1:${m.clientPort}`,
        "listen-peer-urls": `https://127.0.0.1:${m.peerPort}`,
        "initial-advertise-peer-urls": `https://127.0.0.1:${m.peerPort}`,
        "initial-cluster": peers,
        "initial-cluster-token": path.basename(root),
        "cert-file": serverFile(m),
        "key-file": serverFile(m),
        "trusted-ca-file": path.join(root, "client-ca.crt"),
        "client-cert-auth": "true",
        "peer-cert-file": peerFile(m),
        "peer-key-file": peerFile(m),
        "peer-trusted-ca-file": path.join(root, "peer-ca.crt"),
        "peer-client-cert-auth": "true",
        "log-level": "fatal",
        "unsafe-no-fsync": "true",
      };
      const args = Object.entries(flags).map(([flag, value]) => `--${flag}=${value}`);
      m.child = spawn(etcd, args, { stdio: "ignore", env: { PATH: process.env["PATH"] } });
    }

    async function stop(m: Member): Promise<void> {
      const { child } = m;
      if (!child || child.exitCode !== null || child.signalCode !== null) return;
      const exited = once(child, "exit");
      child.kill("SIGKILL");
      await exited;
    }

    before(async () => {
      root = await mkdtemp(path.join(tmpdir(), "quorate-tls-"));
      [clientCa, peerCa] = [await newCa("c client CA"), await newCa("c peer CA")];
      client = await clientLeaf(clientCa);
      await writeFile(path.join(root, "client-ca.crt"), clientCa.certificate);
      await writeFile(path.join(root, "peer-ca.crt"), peerCa.certificate);
      const ports = await freePorts(6);
      for (const i of [0, 1, 2]) {
        const dir = await mkdtemp(path.join(root, `c-${i}-`));
        members.push({ name: `c-${i}`, dir, clientPort: ports[i] ?? 0, peerPort: ports[i + 3] ?? 0 });
        await install(serverFile(member(i)), await memberLeaf(clientCa, `c-${i}`));
        await install(peerFile(member(i)), await memberLeaf(peerCa, `c-${i}`));
      }
      members.forEach(start);
      for (const m of members) await eventually(`${m.name} is healthy`, () => healthy(m));
    });

    after(async () => {
      await Promise.all(members.map(stop));
      if (root) await rm(root, { recursive: true, force: true });
    });

    test("three members form a cluster, and what one takes the others give back (R44: the gateway dials itself)", async () => {
      const key = Buffer.from("greeting").toString("base64");
      const value = Buffer.from("hello").toString("base64");
      const put = await call(member(0).clientPort, clientCa, client, "/v3/kv/put", { body: { key, value } });
      assert.equal(put.status, 200, put.body);
      for (const m of members) {
        const range = await call(m.clientPort, clientCa, client, "/v3/kv/range", { body: { key } });
        assert.equal((JSON.parse(range.body) as { kvs: { value: string }[] }).kvs[0]?.value, value, m.name);
      }
    });

    test("a client without a certificate, or with one of another CA or of the peer plane, is refused", async () => {
      const strange = await clientLeaf(await newCa("c client CA"));
      const peers = await memberLeaf(peerCa, "c-0");
      await assert.rejects(call(member(0).clientPort, clientCa, undefined, "/health"), refusedByServer);
      await assert.rejects(onClientPlane(member(0), strange), refusedByServer);
      await assert.rejects(onClientPlane(member(0), peers), refusedByServer);
      await healthy(member(0));
    });

    test("a client refuses a server of another CA", async () => {
      const strange = await newCa("c client CA");
      await assert.rejects(
        call(member(0).clientPort, strange, client, "/health"),
        refusedByClient("UNABLE_TO_VERIFY_LEAF_SIGNATURE"),
      );
    });

    test("the peer plane refuses whoever has no certificate, one of another CA or one of the client plane", async () => {
      const strange = await memberLeaf(await newCa("c peer CA"), "c-0");
      await assert.rejects(onPeerPlane(member(0)), refusedByServer);
      await assert.rejects(onPeerPlane(member(0), strange), refusedByServer);
      await assert.rejects(onPeerPlane(member(0), client), refusedByServer);
      assert.equal((await onPeerPlane(member(0), await memberLeaf(peerCa, "c-0"))).status, 200);
    });

    test("R44, R46: a peer needs clientAuth and an address of its own among its names", async () => {
      const elsewhere = await memberLeaf(peerCa, "c-0", pki, LEAF_LIFE_MS, { dns: [], ips: ["192.0.2.1"] });
      await assert.rejects(onPeerPlane(member(0), elsewhere), /socket hang up|ECONNRESET|EPIPE/);
      const serverOnly = await pki.issueLeaf({
        ca: peerCa,
        leaf: { commonName: "c-0", sans, usages: ["serverAuth"], lifeMs: LEAF_LIFE_MS },
      });
      await assert.rejects(onPeerPlane(member(0), serverOnly), refusedByServer);
    });

    test("R45: a leaf replaced on disk is shown to new handshakes, with no restart and no open connection lost", async () => {
      const m = member(1);
      const pid = m.child?.pid;
      const agent = new Agent({ keepAlive: true, maxSockets: 1 });
      try {
        const open = await call(m.clientPort, clientCa, client, "/health", { agent });
        const [server, peer] = [await memberLeaf(clientCa, m.name), await memberLeaf(peerCa, m.name)];
        await install(serverFile(m), server);
        await install(peerFile(m), peer);
        assert.equal((await onClientPlane(m)).serial, server.serial);
        assert.equal((await onPeerPlane(m, peer)).serial, peer.serial);
        const still = await call(m.clientPort, clientCa, client, "/health", { agent });
        assert.deepEqual([still.status, still.serial], [200, open.serial]);
        assert.ok(m.child?.pid === pid && m.child?.exitCode === null && m.child.signalCode === null);
      } finally {
        agent.destroy();
      }
    });

    test("a server's leaf that runs out is refused by clients until it is renewed, as the plan says", async () => {
      const m = member(2);
      const wanted = { commonName: m.name, sans, usages: USAGES.serverWithGateway, lifeMs: MINUTE };
      const judge = (leaf: KeyPair) =>
        judgeLeaf({
          name: `c/${m.name}/client`,
          wanted,
          found: {
            kind: "present",
            facts: pki.inspect({
              certificate: { text: leaf.certificate, where: "server.pem" },
              key: { text: leaf.key, where: "server.pem" },
              trust: { text: clientCa.certificate, where: "client-ca.crt" },
            }),
          },
          ca: pki.inspect({
            certificate: { text: clientCa.certificate, where: "client-ca.crt" },
            key: { text: clientCa.key, where: "client-ca.key" },
          }),
          now: systemClock.now(),
        });
      // Eight to nine seconds are left of its minute: enough to be shown and judged on a busy machine.
      const brief = await memberLeaf(clientCa, m.name, issuerBehind(MINUTE - 8_000), MINUTE);
      await install(serverFile(m), brief);
      assert.equal((await onClientPlane(m)).serial, brief.serial);
      const due = judge(brief);
      assert.equal(due.kind === "issue" && due.flaw, "due");
      await eventually("the leaf runs out", () =>
        assert.rejects(onClientPlane(m), refusedByClient("CERT_HAS_EXPIRED")),
      );
      const expired = judge(brief);
      assert.equal(expired.kind === "issue" && expired.flaw, "expired");
      const renewed = await pki.issueLeaf({ ca: clientCa, leaf: wanted });
      await install(serverFile(m), renewed);
      assert.equal((await onClientPlane(m)).serial, renewed.serial);
      assert.equal(judge(renewed).kind, "keep");
    });

    test("a client's leaf that ran out is refused by etcd until it is renewed", async () => {
      const expired = await clientLeaf(clientCa, issuerBehind(2 * MINUTE), MINUTE);
      await assert.rejects(onClientPlane(member(0), expired), refusedByServer);
      assert.equal((await onClientPlane(member(0), await clientLeaf(clientCa))).status, 200);
    });

    test("a member whose peer leaf ran out stays outside until the leaf on disk is renewed, with no second restart", async () => {
      const m = member(0);
      await stop(m);
      await install(peerFile(m), await memberLeaf(peerCa, m.name, issuerBehind(2 * MINUTE), MINUTE));
      start(m);
      await eventually("its peer port answers with the expired leaf", () =>
        assert.rejects(onPeerPlane(m, client), refusedByClient("CERT_HAS_EXPIRED")),
      );
      // Its client port is open but nobody answers: etcd serves clients only after it has found its peers.
      for (const end = Date.now() + 2_000; Date.now() < end; await delay(50))
        await assert.rejects(healthy(m, 2_000));
      // It may have led: then the others elect first.
      await eventually("the others are well", () => healthy(member(1)));
      await install(peerFile(m), await memberLeaf(peerCa, m.name));
      await eventually(`${m.name} is back`, () => healthy(m));
    });
  });
}
