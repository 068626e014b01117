/** The protected server: TLS, who is let in, and its certificate's replacement. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { connect as connectTcp, type Socket } from "node:net";
import { get, type RequestOptions } from "node:https";
import { request as plainRequest } from "node:http";
import { connect } from "node:tls";
import { test } from "node:test";
import { silent } from "../../kube/log.ts";
import { ManualClock } from "../../kube/testing.ts";
import { createPki } from "../../pki/issue.ts";
import { systemClock } from "../../seams/clock.ts";
import type { Disk } from "../../seams/disk.ts";
import { systemRandom } from "../../seams/random.ts";
import type { Judgement } from "./reviews.ts";
import { serverCertificate } from "./server-certificate.ts";
import { serve } from "./serve.ts";

const ANY = { host: "127.0.0.1", port: 0 };
const paths = { "/metrics": () => ({ status: 200, type: "text/plain", body: "up 1\n" }) };
const pki = createPki(systemClock, systemRandom);
const noDisk = { read: async () => undefined } as unknown as Disk;
const own = { log: silent, pki, disk: noDisk, names: ["localhost"] };

async function ask(port: number, options: RequestOptions = {}): Promise<{ status: number; header: string }> {
  const request = get({
    host: "127.0.0.1",
    port,
    path: "/metrics",
    agent: false,
    rejectUnauthorized: false,
    ...options,
  });
  const [response] = await once(request, "response");
  response.resume();
  return { status: response.statusCode, header: response.headers["www-authenticate"] ?? "" };
}

const STATUS: readonly [Judgement, number][] = [
  ["allowed", 200],
  ["unauthenticated", 401],
  ["forbidden", 403],
  ["unknown", 503],
  ["busy", 503],
  ["refused", 500],
];

test("each judgement has its status, and plaintext and old TLS are refused", async () => {
  const certificate = await serverCertificate({ ...own, clock: new ManualClock() });
  let judgement: Judgement = "allowed";
  const served = await serve(ANY, paths, { certificate, judge: async () => judgement });
  try {
    for (const [given, status] of STATUS) {
      judgement = given;
      const answer = await ask(served.port);
      assert.equal(answer.status, status);
      assert.equal(answer.header, status === 401 ? "Bearer" : "");
    }
    const plain = plainRequest({ host: "127.0.0.1", port: served.port, path: "/metrics" }).end();
    await assert.rejects(once(plain, "response"));
    await assert.rejects(ask(served.port, { maxVersion: "TLSv1.1" }));
  } finally {
    await served.close();
  }
});

test("a certificate that its Secret replaced is served without a restart, and one that cannot be read is not", async () => {
  const clock = new ManualClock();
  const pairs = [];
  for (const name of ["first", "second"]) {
    const ca = await pki.issueCa({ commonName: name, lifeMs: 1e9 });
    const leaf = {
      commonName: name,
      sans: { dns: [name], ips: [] },
      usages: ["serverAuth"] as const,
      lifeMs: 1e8,
    };
    pairs.push(await pki.issueLeaf({ ca, leaf }));
  }
  let files: { certificate: string; key: string } | undefined = pairs[0];
  const disk = {
    read: async (file: string) => (file.endsWith("tls.crt") ? files?.certificate : files?.key),
  } as unknown as Disk;
  const certificate = await serverCertificate({ ...own, clock, disk, directory: "/tls" });
  const served = await serve(ANY, paths, { certificate, judge: async () => "allowed" });
  const name = async () => {
    const socket = connect({ host: "127.0.0.1", port: served.port, rejectUnauthorized: false });
    await once(socket, "secureConnect");
    const { subject } = socket.getPeerCertificate();
    socket.destroy();
    return subject.CN;
  };
  try {
    assert.equal(await name(), "first");
    files = undefined;
    await clock.advance(60_000);
    assert.equal(await name(), "first");
    files = { certificate: "not a certificate", key: "nor a key" };
    await clock.advance(60_000);
    assert.equal(await name(), "first");
    files = pairs[1];
    await clock.advance(60_000);
    assert.equal(await name(), "second");
  } finally {
    await served.close();
  }
  assert.equal(clock.timers, 0);
});

test("a scrape is answered while others hold two hundred connections without a handshake", async () => {
  const certificate = await serverCertificate({ ...own, clock: new ManualClock() });
  const served = await serve(ANY, paths, { certificate, judge: async () => "allowed" });
  const held: Socket[] = [];
  try {
    for (let i = 0; i < 200; i++) {
      const socket = connectTcp(served.port, "127.0.0.1");
      socket.on("error", () => undefined);
      await once(socket, "connect");
      held.push(socket);
    }
    assert.equal((await ask(served.port)).status, 200);
  } finally {
    for (const socket of held) socket.destroy();
    await served.close();
  }
});
