/**
 * The HTTP/2 transport of src/kube against a server of this test's own, which says goodbye, goes silent, refuses and
 * cuts off as an API server may, but when the test wants it.
 */
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { createServer, type Http2Server, type ServerHttp2Session, type ServerHttp2Stream } from "node:http2";
import {
  connect,
  createServer as createTcpServer,
  type AddressInfo,
  type Server,
  type Socket,
} from "node:net";
import { afterEach, test } from "node:test";
import type { Patience } from "../../src/http2/connection.ts";
import { Http2Transport } from "../../src/kube/transport.ts";
import { deadline, systemClock } from "../../src/seams/clock.ts";
import { systemDisk } from "../../src/seams/disk.ts";
import { KubeFailure, type KubeRequest } from "../../src/seams/kube-transport.ts";
import { eventually } from "../../testbed/eventually.ts";

type Handler = (stream: ServerHttp2Stream, method: string, path: string) => void;

const closing: (() => unknown)[] = [];

afterEach(async () => {
  for (const close of closing.splice(0)) await close();
});

async function listening(server: Server | Http2Server): Promise<string> {
  await new Promise<void>((resolve) => void server.listen(0, "127.0.0.1", resolve));
  closing.push(() => server.close());
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

async function served(handler: Handler) {
  const server = createServer();
  const sessions: ServerHttp2Session[] = [];
  const calls: string[] = [];
  server.on("session", (session) => {
    sessions.push(session.on("error", () => undefined));
    closing.push(() => session.destroy());
  });
  server.on("stream", (stream, headers) => {
    stream.on("error", () => undefined);
    calls.push(`${headers[":method"]} ${headers[":path"]}`);
    handler(stream, headers[":method"] ?? "", headers[":path"] ?? "");
  });
  return { url: await listening(server), sessions, calls };
}

/** Pings are many; server and client share this process, so that an answer may be as late as the process is busy. */
function transportTo(server: string, less: Partial<Patience> = {}): Http2Transport {
  const patience = { connectMs: 20_000, pingEveryMs: 200, pingAnswerMs: 20_000, ...less };
  const transport = new Http2Transport({
    config: { server },
    clock: systemClock,
    disk: systemDisk,
    patience,
  });
  closing.unshift(() => transport.close());
  return transport;
}

function answer(stream: ServerHttp2Stream, body: object, status = 200): void {
  stream.respond({ ":status": status, "content-type": "application/json" });
  stream.end(JSON.stringify(body));
}

const get: KubeRequest = { method: "GET", path: "/api/v1/pods" };
const post: KubeRequest = { method: "POST", path: "/api/v1/pods", body: {} };
const watching: KubeRequest = { ...get, query: { watch: "true" } };
const forever = { signal: new AbortController().signal };

async function all(objects: AsyncIterable<unknown>): Promise<unknown[]> {
  const got: unknown[] = [];
  for await (const object of objects) got.push(object);
  return got;
}

function failed(work: Promise<unknown>): Promise<KubeFailure> {
  return work.then(
    () => assert.fail("it succeeded"),
    (error: unknown) => {
      assert.ok(error instanceof KubeFailure, String(error));
      return error;
    },
  );
}

test("many calls share one connection, until there are more than a server allows on one", async () => {
  const held: ServerHttp2Stream[] = [];
  const { url, sessions } = await served((stream) => held.push(stream));
  const transport = transportTo(url);
  const calls = Array.from({ length: 90 }, () => transport.request(get, forever));
  await eventually("all are under way", () => held.length === 90);
  assert.equal(sessions.length, 2);
  for (const stream of held) answer(stream, { ok: true });
  assert.ok((await Promise.all(calls)).every(({ status }) => status === 200));
});

test("after a goodbye calls under way finish, new ones connect anew, and watches move on", async () => {
  const held: ServerHttp2Stream[] = [];
  const { url, sessions, calls } = await served((stream, _, path) => {
    if (path.includes("watch")) stream.respond({ ":status": 200, "content-type": "application/json" });
    else held.push(stream);
  });
  const transport = transportTo(url);
  const opened = await transport.stream(watching, forever);
  assert.ok(opened.ok);
  const reading = all(opened.objects);
  const slow = transport.request(get, forever);
  await eventually("it is under way", () => held.length === 1);
  sessions[0]?.goaway();
  assert.deepEqual(await reading, []);
  const next = transport.request(get, forever);
  await eventually("the next came on another connection", () => held.length === 2);
  assert.equal(sessions.length, 2);
  for (const stream of held) answer(stream, { ok: true });
  assert.equal((await slow).status, 200);
  assert.equal((await next).status, 200);
  assert.equal(calls.length, 3, "nothing was sent twice");
  await eventually("the old connection is let go", () => transport.connections === 1);
});

test("a read that is cut off is sent again once; a write is not, and says that it may have happened", async () => {
  let cuts = 1;
  const { url, calls } = await served((stream) => {
    if (cuts-- > 0) stream.session?.destroy();
    else answer(stream, { ok: true });
  });
  const transport = transportTo(url);
  assert.equal((await transport.request(get, forever)).status, 200);
  assert.deepEqual(calls, ["GET /api/v1/pods", "GET /api/v1/pods"]);
  cuts = 1;
  const { progress } = await failed(transport.request(post, forever));
  assert.equal(progress, "interrupted");
  assert.equal(calls.length, 3);
  cuts = 100;
  await failed(transport.request(get, forever));
  assert.equal(calls.length, 5, "once, not for ever");
});

test("what the server refused to look at is sent again, be it a write", async () => {
  let refusals = 1;
  const { url, calls } = await served((stream) => {
    if (refusals-- > 0) stream.close(7);
    else answer(stream, { ok: true }, 201);
  });
  assert.equal((await transportTo(url).request(post, forever)).status, 201);
  assert.equal(calls.length, 2);
});

test("a server that accepts and says nothing is given up while connecting", async () => {
  const silent = createTcpServer((socket) => closing.push(() => socket.destroy()));
  const { progress, message } = await failed(
    transportTo(await listening(silent), { connectMs: 500 }).request(get, forever),
  );
  assert.equal(progress, "not-sent");
  assert.match(message, /no connection within 500 ms/);
});

test("nobody there is reported as not sent", async () => {
  const { progress, why } = await failed(transportTo("http://127.0.0.1:9").request(post, forever));
  assert.deepEqual([progress, why], ["not-sent", "connection"]);
});

test("a call that takes too long ends at its deadline, and the connection stays when it was only slow", async () => {
  const { url, sessions } = await served((stream, _, path) => {
    if (!path.includes("slow")) answer(stream, { ok: true });
  });
  const transport = transportTo(url);
  using limit = deadline(systemClock, 200);
  const { why } = await failed(transport.request({ method: "GET", path: "/slow" }, { signal: limit.signal }));
  assert.equal(why, "timeout");
  assert.equal((await transport.request(get, forever)).status, 200);
  assert.equal(sessions.length, 1);
});

test("a peer that vanished is found out by the call that got no answer, and the next one connects anew", async () => {
  const { url } = await served((stream) => answer(stream, { ok: true }));
  const links: Socket[] = [];
  const between = createTcpServer((socket) => {
    const onward = connect(Number(new URL(url).port), "127.0.0.1");
    for (const end of [socket, onward]) end.on("error", () => undefined);
    links.push(socket.pipe(onward), onward.pipe(socket));
    closing.push(() => links.forEach((link) => link.destroy()));
  });
  const transport = transportTo(await listening(between), { pingAnswerMs: 300 });
  assert.equal((await transport.request(get, forever)).status, 200);
  for (const link of links) link.unpipe().pause();
  using limit = deadline(systemClock, 50);
  assert.equal((await failed(transport.request(post, { signal: limit.signal }))).why, "timeout");
  await eventually("it is given up", () => transport.connections === 0);
  assert.equal((await transport.request(post, forever)).status, 200);
});

test("objects of a watch come one by one; leaving the loop ends it at the server too", async () => {
  let closed = false;
  const { url } = await served((stream) => {
    stream.respond({ ":status": 200, "content-type": "application/json" });
    stream.write('{"n":1}\n{"n":');
    stream.write("2}\n");
    stream.on("close", () => (closed = true));
  });
  const opened = await transportTo(url).stream(watching, forever);
  assert.ok(opened.ok);
  const got: unknown[] = [];
  for await (const object of opened.objects) {
    got.push(object);
    if (got.length === 2) break;
  }
  assert.deepEqual(got, [{ n: 1 }, { n: 2 }]);
  await eventually("the server has seen the end", () => closed);
});

test("a watch that ends within an object, or is torn off, is a failure; one that ends between is not", async () => {
  const { url } = await served((stream, _, path) => {
    stream.respond({ ":status": 200, "content-type": "application/json" });
    if (path.includes("torn")) stream.write('{"n":1}\n', () => stream.destroy(new Error("torn")));
    else stream.end(path.includes("half") ? '{"n":1}\n{"n"' : '{"n":1}\n');
  });
  const transport = transportTo(url);
  const whole = await transport.stream(watching, forever);
  assert.ok(whole.ok);
  assert.deepEqual(await all(whole.objects), [{ n: 1 }]);
  const half = await transport.stream({ ...watching, path: "/half" }, forever);
  assert.ok(half.ok);
  await failed(all(half.objects));
  const torn = await transport.stream({ ...watching, path: "/torn" }, forever);
  assert.ok(torn.ok);
  await failed(all(torn.objects));
});

test("an answer has its Retry-After and the server's time, also of a refused watch; one that is no JSON is a text", async () => {
  const date = "Mon, 07 Jan 2030 12:00:01 GMT";
  const { url } = await served((stream, _, path) => {
    if (path.includes("watch")) {
      stream.respond({ ":status": 429, "content-type": "application/json", "retry-after": "3", date });
      stream.end('{"kind":"Status"}');
    } else {
      stream.respond({ ":status": 502, "content-type": "text/html", date: "soon" });
      stream.end("<html>");
    }
  });
  const transport = transportTo(url);
  const refused = await transport.stream(watching, forever);
  assert.deepEqual(refused, {
    ok: false,
    response: {
      status: 429,
      body: { kind: "Status" },
      retryAfterMs: 3_000,
      date: Date.UTC(2030, 0, 7, 12, 0, 1),
    },
  });
  assert.deepEqual(await transport.request(get, forever), { status: 502, body: "<html>" });
});

test("closing ends everything that is under way", async () => {
  const { url } = await served(() => undefined);
  const transport = transportTo(url);
  const call = failed(transport.request(post, forever));
  await eventually("it is connected", () => transport.connections === 1);
  await transport.close();
  await call;
  assert.equal(transport.connections, 0);
  assert.equal((await failed(transport.request(get, forever))).why, "cancelled");
});

test("an open connection that nobody uses does not keep a process from ending", async () => {
  const { url } = await served((stream) => answer(stream, { ok: true }));
  const from = (path: string) => JSON.stringify(new URL(`../../src/${path}`, import.meta.url).href);
  const code = `
    import { Http2Transport } from ${from("kube/transport.ts")};
    import { systemClock } from ${from("seams/clock.ts")};
    import { systemDisk } from ${from("seams/disk.ts")};
    const config = { server: ${JSON.stringify(url)} };
    const transport = new Http2Transport({ config, clock: systemClock, disk: systemDisk });
    const { signal } = new AbortController();
    const { status } = await transport.request({ method: "GET", path: "/" }, { signal });
    process.exitCode = status === 200 && transport.connections === 1 ? 7 : 1;
  `;
  const child = spawn(process.execPath, ["--input-type=module", "-e", code], { stdio: "inherit" });
  closing.push(() => child.kill("SIGKILL"));
  const [exitCode] = (await once(child, "exit", { signal: AbortSignal.timeout(30_000) })) as [number];
  assert.equal(exitCode, 7);
});
