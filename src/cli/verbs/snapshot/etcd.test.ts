import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createSecureServer, createServer as createHttp2Server } from "node:http2";
import type { AddressInfo } from "node:net";
import os from "node:os";
import path from "node:path";
import { test } from "node:test";
import { createPki } from "../../../pki/issue.ts";
import { systemClock } from "../../../seams/clock.ts";
import { systemRandom } from "../../../seams/random.ts";
import { collectingIo } from "../../testing.ts";
import { openEtcd } from "./etcd.ts";

test("certificates that were renewed, by another CA too, are used once they are read again", async (t) => {
  const dir = mkdtempSync(path.join(os.tmpdir(), "quorate-etcd-"));
  t.after(() => rmSync(dir, { recursive: true, force: true }));
  const pki = createPki(systemClock, systemRandom);
  const lifeMs = 3_600_000;
  const sans = { dns: [], ips: ["127.0.0.1"] };
  const leaf = { commonName: "etcd", sans, usages: ["serverAuth", "clientAuth"], lifeMs } as const;
  const issued = async () => {
    const ca = await pki.issueCa({ commonName: "test", lifeMs });
    return { ca: ca.certificate, ...(await pki.issueLeaf({ ca, leaf })) };
  };
  const [former, renewed] = await Promise.all([issued(), issued()]);
  const file = (name: string) => path.join(dir, name);
  const write = ({ ca, certificate, key }: typeof former) => {
    writeFileSync(file("ca"), ca);
    writeFileSync(file("cert"), certificate);
    writeFileSync(file("key"), key);
  };
  write(former);
  const { ca, certificate: cert, key } = renewed;
  const server = createSecureServer({ ca, cert, key, requestCert: true, rejectUnauthorized: true });
  let asked = 0;
  server.on("stream", (stream) => {
    asked++;
    stream.respond(
      { ":status": 200, "content-type": "application/grpc", "grpc-status": "12" },
      { endStream: true },
    );
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  const flags = {
    endpoints: [`https://127.0.0.1:${port}`],
    cacert: file("ca"),
    cert: file("cert"),
    key: file("key"),
    user: undefined,
    password: undefined,
    "password-file": undefined,
    local: false,
    dir: undefined,
    name: undefined,
  };
  const { client, refresh, close } = await openEtcd(flags, collectingIo({ cwd: dir, env: {} }));
  t.after(async () => {
    await close();
    await new Promise((resolve) => server.close(resolve));
  });
  const ask = () => client.kv.range("a", { signal: AbortSignal.timeout(20_000) });
  await assert.rejects(ask());
  rmSync(file("key"));
  await refresh();
  await assert.rejects(ask(), "half of them is not used");
  assert.equal(asked, 0);
  write(renewed);
  await refresh();
  await assert.rejects(ask());
  assert.ok(asked > 0);
});

test("a password in a file is read again, so that one that runs for long logs in with the present one", async (t) => {
  const dir = mkdtempSync(path.join(os.tmpdir(), "quorate-password-"));
  const file = path.join(dir, "password");
  const seen: string[] = [];
  const server = createHttp2Server();
  server.on("stream", (stream) => {
    const chunks: Buffer[] = [];
    stream.on("data", (chunk: Buffer) => chunks.push(chunk));
    stream.on("end", () => {
      seen.push(Buffer.concat(chunks).toString("latin1"));
      stream.respond(
        { ":status": 200, "content-type": "application/grpc", "grpc-status": "12" },
        { endStream: true },
      );
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  writeFileSync(file, "former \r\n");
  const flags = {
    endpoints: [`http://127.0.0.1:${port}`],
    cacert: undefined,
    cert: undefined,
    key: undefined,
    user: "backup",
    password: undefined,
    "password-file": "password",
    local: false,
    dir: undefined,
    name: undefined,
  };
  const io = collectingIo({ cwd: dir, env: {} });
  const { client, refresh, close } = await openEtcd(flags, io);
  t.after(async () => {
    await close();
    await new Promise((resolve) => server.close(resolve));
    rmSync(dir, { recursive: true, force: true });
  });
  await assert.rejects(openEtcd({ ...flags, user: undefined }, io), /--password-file needs --user/);
  const ask = () => client.kv.range("a", { signal: AbortSignal.timeout(20_000) });
  await assert.rejects(ask());
  assert.ok(
    seen.some((text) => text.includes("backup") && text.includes("\x07former ")),
    `with its space and without the end of the line: ${seen.join()}`,
  );
  rmSync(file);
  await refresh();
  seen.length = 0;
  await assert.rejects(ask());
  assert.ok(
    seen.some((text) => text.includes("former")),
    "one that cannot be read changes nothing",
  );
  writeFileSync(file, "renewed\n");
  await refresh();
  seen.length = 0;
  await assert.rejects(ask());
  assert.ok(
    seen.some((text) => text.includes("renewed")),
    seen.join(),
  );
  const both = { ...flags, password: "one" };
  await assert.rejects(openEtcd(both, collectingIo({ cwd: dir, env: {} })), /exclude each other/);
});
