/**
 * The gRPC transport at its edges: servers that break off, refuse, send nonsense or say goodbye (played
 * by a small HTTP/2 server), and mutual TLS with a real member.
 */
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { createServer, type Http2Server, type ServerHttp2Session, type ServerHttp2Stream } from "node:http2";
import path from "node:path";
import process from "node:process";
import { after, before, describe, test } from "node:test";
import { promisify } from "node:util";
import { EtcdClient } from "../../src/etcd/client.ts";
import { encodeFrame } from "../../src/etcd/grpc/frame.ts";
import { GrpcTransport } from "../../src/etcd/grpc/transport.ts";
import { IdleConnections } from "../../src/http2/idle.ts";
import { HttpProbe } from "../../src/etcd/probe.ts";
import { systemClock } from "../../src/seams/clock.ts";
import type { Endpoint } from "../../src/seams/etcd-transport.ts";
import { eventually } from "../../testbed/eventually.ts";
import { TestCluster, type TestMember } from "../support/etcd-cluster.ts";
import { makeTestPki, SERVER_NAME } from "../support/etcd-pki.ts";
import { newestVersions } from "../support/etcd-versions.ts";

const newest = newestVersions.at(-1) as string;
const statusOf = (endpoint: Endpoint, transport: GrpcTransport, timeoutMs = 20_000) =>
  new EtcdClient({ transport, clock: systemClock, endpoints: [endpoint], timeoutMs }).maintenance.status(
    endpoint,
  );

/** An HTTP/2 server whose handling of each call the test writes. */
class Server implements AsyncDisposable {
  readonly sessions = new Set<ServerHttp2Session>();
  readonly paths: string[] = [];
  opened = 0;
  endpoint: Endpoint = { url: "" };
  readonly #server: Http2Server = createServer();

  static async start(handle: (stream: ServerHttp2Stream, calls: number) => void): Promise<Server> {
    const server = new Server();
    server.#server.on("session", (session) => {
      server.opened++;
      server.sessions.add(session);
      session.on("close", () => server.sessions.delete(session));
      session.on("error", () => undefined);
    });
    server.#server.on("stream", (stream, headers) => {
      server.paths.push(String(headers[":path"]));
      stream.on("error", () => undefined);
      handle(stream, server.paths.length);
    });
    await new Promise<void>((resolve) => server.#server.listen(0, "127.0.0.1", resolve));
    const address = server.#server.address();
    if (address === null || typeof address === "string") throw new Error("no port");
    server.endpoint = { name: "fake", url: `http://127.0.0.1:${address.port}` };
    return server;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const session of this.sessions) session.destroy();
    await new Promise((resolve) => this.#server.close(resolve));
  }
}

/** A right answer: an empty message and status 0. */
function answer(stream: ServerHttp2Stream): void {
  stream.respond({ ":status": 200, "content-type": "application/grpc" }, { waitForTrailers: true });
  stream.on("wantTrailers", () => stream.sendTrailers({ "grpc-status": "0" }));
  stream.end(encodeFrame(new Uint8Array(0)));
}

test("clients that share a bound keep so many connections, end the oldest, and connect anew", async () => {
  await using server = await Server.start(answer);
  const idle = new IdleConnections(2);
  const transports = [1, 2, 3].map(() => new GrpcTransport({ clock: systemClock, idle }));
  const [first] = transports;
  assert.ok(first);
  try {
    for (const transport of transports) await statusOf(server.endpoint, transport);
    await eventually("the first is ended", () => Promise.resolve(first.connections === 0));
    assert.deepEqual([server.opened, idle.size], [3, 2]);
    await statusOf(server.endpoint, first);
    assert.equal(server.opened, 4);
    for (let i = 0; i < 20; i++) await statusOf(server.endpoint, first);
    assert.equal(server.opened, 4, "who is used again and again stays");
  } finally {
    for (const transport of transports) await transport.close();
  }
  await eventually("nothing is left", () => Promise.resolve(idle.size === 0));
});

describe("a server that misbehaves", () => {
  const transport = new GrpcTransport({ clock: systemClock });
  after(async () => await transport.close());

  test("calls share one connection", async () => {
    await using server = await Server.start(answer);
    await Promise.all(Array.from({ length: 200 }, () => statusOf(server.endpoint, transport)));
    assert.deepEqual([server.opened, server.paths.length], [1, 200]);
    assert.equal(server.paths[0], "/etcdserverpb.Maintenance/Status");
  });

  test("no more than 64 calls are under way at once", async () => {
    let most = 0;
    let now = 0;
    // Nobody is answered before 64 are there: a slow machine would answer the first before it has read the last.
    const full = Promise.withResolvers<void>();
    await using server = await Server.start((stream) => {
      most = Math.max(most, ++now);
      if (now === 64) full.resolve();
      void full.promise.then(() => setTimeout(() => (now--, answer(stream)), 20));
    });
    await Promise.all(Array.from({ length: 150 }, () => statusOf(server.endpoint, transport)));
    assert.equal(most, 64);
  });

  test("a call it does not know is unimplemented", async () => {
    await using server = await Server.start((stream) =>
      stream.respond(
        { ":status": 200, "grpc-status": "12", "grpc-message": "unknown%20method" },
        { endStream: true },
      ),
    );
    await assert.rejects(statusOf(server.endpoint, transport), {
      kind: "unimplemented",
      said: "unknown method",
    });
  });

  test("an HTTP error, no status, a broken frame and a reset are reported, and none of them hangs", async () => {
    const faults: [(stream: ServerHttp2Stream) => void, object][] = [
      [(stream) => stream.respond({ ":status": 503 }, { endStream: true }), { kind: "unavailable" }],
      [
        (stream) => (stream.respond({ ":status": 200 }), stream.end()),
        { kind: "unavailable", outcome: "unknown" },
      ],
      [
        (stream) => (stream.respond({ ":status": 200 }), stream.end(Buffer.from([1, 0, 0, 0, 0]))),
        { code: "INTERNAL" },
      ],
      [(stream) => stream.close(2), { kind: "unavailable", outcome: "unknown" }],
      [(stream) => stream.session?.destroy(), { kind: "unavailable", outcome: "unknown" }],
    ];
    for (const [fault, expected] of faults) {
      await using server = await Server.start(fault);
      await assert.rejects(statusOf(server.endpoint, transport), expected);
    }
  });

  test("a call refused before it was looked at has not been applied", async () => {
    await using server = await Server.start((stream) => stream.close(7));
    await assert.rejects(statusOf(server.endpoint, transport), {
      kind: "unavailable",
      outcome: "not-applied",
    });
  });

  test("after a goodbye, or a lost connection, the next call opens a new one", async () => {
    await using server = await Server.start(answer);
    await statusOf(server.endpoint, transport);
    for (const session of server.sessions) session.goaway(0);
    await eventually("the goodbye is heard", async () => {
      await statusOf(server.endpoint, transport);
      return server.opened === 2;
    });
    for (const session of server.sessions) session.destroy();
    await eventually("the loss is noticed", async () => {
      await statusOf(server.endpoint, transport);
      return server.opened === 3;
    });
  });

  test("a server that never answers costs the deadline, and its connection is not used again", async () => {
    await using server = await Server.start((stream, calls) => (calls === 2 ? undefined : answer(stream)));
    // Connected before the clock runs: a deadline that ends while connecting has another outcome.
    await statusOf(server.endpoint, transport);
    const started = performance.now();
    await assert.rejects(statusOf(server.endpoint, transport, 200), { kind: "deadline", outcome: "unknown" });
    assert.ok(performance.now() - started < 2_000);
    await statusOf(server.endpoint, transport);
    assert.equal(server.opened, 2);
    await eventually("the old connection is let go", () => Promise.resolve(server.sessions.size === 1));
  });

  test("closing ends calls under way, and later ones are refused", async () => {
    await using server = await Server.start(() => undefined);
    const closing = new GrpcTransport({ clock: systemClock });
    const call = assert.rejects(statusOf(server.endpoint, closing), { outcome: "unknown" });
    await eventually("the call is there", () => Promise.resolve(server.paths.length === 1));
    await closing.close();
    await call;
    await assert.rejects(statusOf(server.endpoint, closing), { kind: "cancelled", outcome: "not-applied" });
    assert.equal(closing.connections, 0);
  });

  test("an idle connection does not keep the process alive, a call under way does", async () => {
    await using server = await Server.start((stream) => setTimeout(() => answer(stream), 300));
    const child = path.join(import.meta.dirname, "transport-child.ts");
    const run = promisify(execFile);
    const { stdout } = await run(process.execPath, [child, server.endpoint.url], { timeout: 30_000 });
    assert.equal(stdout, "answered\n");
  });
});

describe("mutual TLS", () => {
  let cluster: TestCluster;
  let member: TestMember;
  const transports: GrpcTransport[] = [];
  const transportWith = (tls?: ConstructorParameters<typeof GrpcTransport>[0]["tls"]) => {
    const transport = new GrpcTransport({ clock: systemClock, ...(tls === undefined ? {} : { tls }) });
    transports.push(transport);
    return transport;
  };
  before(async () => {
    cluster = await TestCluster.start({ version: newest, members: 1, tls: true });
    member = cluster.members[0] as TestMember;
  });
  after(async () => {
    for (const transport of transports) await transport.close();
    await cluster?.[Symbol.asyncDispose]();
  });

  test("an address is dialled and another name verified", async () => {
    const transport = transportWith(cluster.tls);
    await statusOf({ ...member.endpoint, serverName: SERVER_NAME }, transport);
    await statusOf({ ...member.endpoint, serverName: "127.0.0.1" }, transport);
    const wrong = { ...member.endpoint, serverName: "other.etcd.test" };
    await assert.rejects(statusOf(wrong, transport), { kind: "untrusted-server", outcome: "not-applied" });
    await assert.rejects(statusOf({ ...member.endpoint, serverName: "127.0.0.2" }, transport), {
      kind: "untrusted-server",
    });
  });

  test("a server of another CA is not trusted", async () => {
    const other = await makeTestPki();
    await assert.rejects(statusOf(member.endpoint, transportWith(other.credentials)), {
      kind: "untrusted-server",
    });
    await assert.rejects(statusOf(member.endpoint, transportWith()), { kind: "untrusted-server" });
  });

  test("a client without a certificate, or with one of another CA, is reported that it was refused", async () => {
    const { ca } = cluster.tls as { ca: string };
    await assert.rejects(statusOf(member.endpoint, transportWith({ ca })), {
      kind: "client-certificate-refused",
    });
    const other = await makeTestPki();
    const { cert, key } = other.credentials;
    const stranger = { ca, ...(cert && { cert }), ...(key && { key }) };
    await assert.rejects(statusOf(member.endpoint, transportWith(stranger)), {
      kind: "client-certificate-refused",
    });
  });

  test("plain text to a TLS port, and TLS to a plain one, fail with a hint and without delay", async () => {
    const plain = { ...member.endpoint, url: member.clientUrl.replace("https:", "http:") };
    await assert.rejects(statusOf(plain, transportWith()), { kind: "unavailable", outcome: "not-applied" });
    await using other = await TestCluster.start({ version: newest, members: 1 });
    const secure = { url: (other.members[0] as TestMember).clientUrl.replace("http:", "https:") };
    await assert.rejects(statusOf(secure, transportWith(cluster.tls)), /does not speak TLS here/);
  });

  test("new credentials open a new connection; a call under way finishes on the old one", async () => {
    const transport = transportWith(cluster.tls);
    const client = new EtcdClient({ transport, clock: systemClock, endpoints: [member.endpoint] });
    const stop = new AbortController();
    const events: string[] = [];
    const watching = (async () => {
      for await (const batch of client.watches.watch("k", { signal: stop.signal })) events.push(batch.type);
    })();
    await eventually("the watch is there", () => Promise.resolve(events.length === 1));
    assert.equal(transport.connections, 1);
    const renewed = await (cluster.pki as NonNullable<typeof cluster.pki>).client("root");
    transport.setCredentials(renewed);
    transport.setCredentials({ ...renewed }); // The same again changes nothing.
    await client.kv.put("k", "v");
    await eventually("the event on the old connection", () => Promise.resolve(events.includes("events")));
    assert.equal(transport.connections, 2);
    stop.abort();
    await watching;
    await eventually("the old connection is let go", () => Promise.resolve(transport.connections === 1));
    for (let i = 0; i < 20; i++) {
      transport.setCredentials(await (cluster.pki as NonNullable<typeof cluster.pki>).client("root"));
      await client.kv.put("k", "v");
    }
    assert.equal(transport.connections, 1, "rotations leave nothing behind");
  });

  test("questions over HTTP count for the same bound, and are answered whatever was ended", async () => {
    const idle = new IdleConnections(1);
    const transport = new GrpcTransport({
      clock: systemClock,
      idle,
      ...(cluster.tls && { tls: cluster.tls }),
    });
    const probe = new HttpProbe({ idle });
    if (cluster.tls) probe.setCredentials(cluster.tls);
    try {
      for (let i = 0; i < 12; i++) {
        const { server } = await probe.versions(member.endpoint, AbortSignal.timeout(5_000));
        assert.equal(server, newest);
        if (i % 4 === 3) await statusOf(member.endpoint, transport);
        await eventually("one of them is kept", () => Promise.resolve(idle.size === 1));
      }
    } finally {
      probe.close();
      await transport.close();
    }
    await eventually("nothing is left", () => Promise.resolve(idle.size === 0));
  });
});
