import assert from "node:assert/strict";
import { create } from "@bufbuild/protobuf";
import { createServer as createHttp2Server, type ServerHttp2Stream } from "node:http2";
import { createServer } from "node:https";
import type { AddressInfo } from "node:net";
import { test } from "node:test";
import { encodeFrame } from "../../etcd/grpc/frame.ts";
import { HttpProbe } from "../../etcd/probe.ts";
import { Maintenance, StatusRequestSchema } from "../../etcd/proto/rpc_pb.ts";
import { IdleConnections } from "../../http2/idle.ts";
import { createPki } from "../../pki/issue.ts";
import { systemClock } from "../../seams/clock.ts";
import { systemRandom } from "../../seams/random.ts";
import { overTheWire } from "./reach.ts";

test("the certificate is that of a new connection, whatever those that are open were shown", async () => {
  const pki = createPki(systemClock, systemRandom);
  const lifeMs = 3_600_000;
  const ca = await pki.issueCa({ commonName: "test", lifeMs });
  const sans = { dns: ["etcd.test"], ips: [] };
  const leaf = { commonName: "etcd", sans, usages: ["serverAuth", "clientAuth"], lifeMs } as const;
  const [first, second, own] = await Promise.all([1, 2, 3].map(() => pki.issueLeaf({ ca, leaf })));
  assert.ok(first && second && own);
  const tls = { ca: ca.certificate, requestCert: true };
  const server = createServer({ ...tls, cert: first.certificate, key: first.key }, (_request, response) =>
    response.end('{"etcdserver":"3.6.16","etcdcluster":"3.6.0"}'),
  );
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  const probe = new HttpProbe();
  const { signal } = new AbortController();
  const at = (scheme: string) => ({
    name: "a",
    url: `${scheme}://127.0.0.1:${port}`,
    serverName: "etcd.test",
  });
  try {
    probe.setCredentials({ ca: ca.certificate, cert: own.certificate, key: own.key });
    assert.equal((await probe.versions(at("https"), signal)).cluster, "3.6.0");
    assert.equal(await probe.certificate(at("https"), signal), first.fingerprint);
    server.setSecureContext({ ...tls, cert: second.certificate, key: second.key });
    assert.equal((await probe.versions(at("https"), signal)).cluster, "3.6.0");
    assert.equal(await probe.certificate(at("https"), signal), second.fingerprint);
    assert.equal(await probe.certificate(at("http"), signal), undefined);
  } finally {
    probe.close();
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  }
  assert.equal(await probe.certificate(at("https"), signal), undefined, "nobody answers any more");
});

test("an answer of etcd that is larger than any that the operator asks for is refused", async () => {
  const server = createHttp2Server();
  server.on("stream", (stream: ServerHttp2Stream) => {
    stream.on("error", () => undefined);
    stream.respond({ ":status": 200, "content-type": "application/grpc" });
    stream.write(encodeFrame(new Uint8Array(2 * 1024 * 1024)));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  const reach = overTheWire(systemClock, new IdleConnections(1));
  const endpoint = { name: "a", url: `http://127.0.0.1:${port}` };
  try {
    await assert.rejects(
      reach.transport.unary(Maintenance.method.status, endpoint, create(StatusRequestSchema), {
        signal: AbortSignal.timeout(10_000),
      }),
      /a message of 2097152 bytes; at most 1048576 are accepted/,
    );
  } finally {
    await reach.close();
    await new Promise((resolve) => server.close(resolve));
  }
});
