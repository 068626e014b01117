/** Port-forwards with a server in memory: frames, channels, errors. A real node is in test/operator/on-nodes. */
import assert from "node:assert/strict";
import { PassThrough, type Duplex } from "node:stream";
import { connect } from "node:net";
import { duplexPair } from "node:stream";
import { test } from "node:test";
import type { Socket } from "node:net";
import { systemRandom } from "../seams/random.ts";
import { isReason } from "./errors.ts";
import { localPort } from "./local-port.ts";
import { portForward } from "./port-forward.ts";
import { settle } from "./testing.ts";
import type { Upgraded } from "./upgrade.ts";
import { acceptOf, frameOf } from "./websocket.ts";

const request = { namespace: "prod", pod: "demo-1", port: 2379, signal: new AbortController().signal };

/** As a server sends them: without a mask. */
function frame(payload: Uint8Array | string, opcode = 2, final = true): Buffer {
  const bytes = Buffer.from(payload);
  const head = bytes.length < 126 ? [bytes.length] : [126, bytes.length >> 8, bytes.length & 255];
  return Buffer.concat([Buffer.from([(final ? 0x80 : 0) | opcode, ...head]), bytes]);
}

const data = (text: string) => frame(Buffer.concat([Buffer.from([0]), Buffer.from(text)]));
const failure = (text: string) => frame(Buffer.concat([Buffer.from([1]), Buffer.from(text)]));
const PORT = Buffer.from([0x4b, 0x09]);
const opening = [0, 1].map((channel) => frame(Buffer.concat([Buffer.from([channel]), PORT])));

/** What a client sent, unmasked. */
function messages(bytes: Buffer): { opcode: number; payload: Buffer }[] {
  const found: { opcode: number; payload: Buffer }[] = [];
  let at = 0;
  while (at < bytes.length) {
    const short = (bytes[at + 1] ?? 0) & 0x7f;
    const header = short === 126 ? 4 : short === 127 ? 10 : 2;
    const size =
      short === 126
        ? bytes.readUInt16BE(at + 2)
        : short === 127
          ? Number(bytes.readBigUInt64BE(at + 2))
          : short;
    const mask = bytes.subarray(at + header, at + header + 4);
    const payload = bytes
      .subarray(at + header + 4, at + header + 4 + size)
      .map((byte, i) => byte ^ (mask[i & 3] ?? 0));
    found.push({ opcode: (bytes[at] ?? 0) & 15, payload: Buffer.from(payload) });
    at += header + 4 + size;
  }
  return found;
}

async function opened(head: Buffer = Buffer.alloc(0)) {
  const [ours, theirs] = duplexPair();
  const received: Buffer[] = [];
  theirs.on("data", (chunk: Buffer) => received.push(chunk));
  let asked = "";
  const transport = {
    upgrade: (
      { path, query }: { path: string; query?: Readonly<Record<string, string>> },
      headers: Readonly<Record<string, string>>,
    ): Promise<Upgraded> => {
      asked = `${path}?${new URLSearchParams(query).toString()}`;
      const socket = Object.assign(ours, { setKeepAlive: () => socket }) as unknown as Socket;
      return Promise.resolve({
        ok: true,
        socket,
        head,
        headers: {
          "sec-websocket-accept": acceptOf(headers["sec-websocket-key"] ?? ""),
          "sec-websocket-protocol": headers["sec-websocket-protocol"],
        },
      });
    },
  };
  const stream = await portForward(transport, systemRandom, request);
  return { stream, theirs, sent: () => messages(Buffer.concat(received)), asked };
}

async function textOf(stream: Duplex): Promise<string> {
  let text = "";
  for await (const chunk of stream) text += String(chunk);
  return text;
}

test("data goes both ways on its channel, after the number of the port", async () => {
  const { stream, theirs, sent, asked } = await opened(Buffer.concat(opening));
  assert.equal(asked, "/api/v1/namespaces/prod/pods/demo-1/portforward?ports=2379");
  theirs.write(data("hel"));
  theirs.write(data("lo"));
  stream.write("ping");
  await settle();
  assert.deepEqual(
    sent().map(({ opcode, payload }) => [opcode, payload.toString()]),
    [[2, "\u0000ping"]],
  );
  theirs.write(frame(Buffer.from([3, 232]), 8));
  assert.equal(await textOf(stream), "hello");
});

test("frames may come in pieces, in fragments, and with pings between them", async () => {
  const { stream, theirs, sent } = await opened();
  const long = "x".repeat(300);
  const bytes = Buffer.concat([
    ...opening,
    frame("are you there?", 9),
    frame(Buffer.from([0, 97]), 2, false),
    frame("b", 0),
    data(long),
    frame(Buffer.from([3, 232]), 8),
  ]);
  for (const byte of bytes) theirs.write(Buffer.from([byte]));
  assert.equal(await textOf(stream), `ab${long}`);
  assert.deepEqual(sent()[0], { opcode: 10, payload: Buffer.from("are you there?") });
});

test("what the node says about a failure is the error of the stream", async () => {
  const { stream, theirs } = await opened(Buffer.concat(opening));
  theirs.write(failure("error forwarding port 2379 to pod demo-1: connection refused"));
  await assert.rejects(textOf(stream), {
    name: "PortForwardError",
    message: /prod\/demo-1:2379 failed: .*connection refused/,
  });
});

test("what comes with the answer to the upgrade is read like the rest, be it data, a failure or the end", async () => {
  const whole = Buffer.concat([...opening, data("hello"), frame(Buffer.from([3, 232]), 8)]);
  assert.equal(await textOf((await opened(whole)).stream), "hello");
  const failed = await opened(Buffer.concat([...opening, failure("connection refused")]));
  await assert.rejects(textOf(failed.stream), { name: "PortForwardError", message: /connection refused/ });
  const many = await opened(
    Buffer.concat([...opening, ...Array.from({ length: 9 }, () => data("x".repeat(9_000)))]),
  );
  many.theirs.write(frame(Buffer.from([3, 232]), 8));
  assert.equal((await textOf(many.stream)).length, 81_000);
});

test("a connection that breaks off, and a frame that is none, are errors, not an end", async () => {
  const broken = await opened(Buffer.concat(opening));
  broken.theirs.end();
  await assert.rejects(textOf(broken.stream), { name: "PortForwardError" });
  const strange = await opened();
  strange.theirs.write(Buffer.from([0xff, 0xff, 1, 2, 3]));
  await assert.rejects(textOf(strange.stream), /not valid/);
});

test("large writes are framed as a whole, and closing says so", async () => {
  const { stream, sent } = await opened(Buffer.concat(opening));
  stream.write(Buffer.alloc(70_000, 1));
  stream.end();
  await settle();
  const [first, last] = sent();
  assert.equal(first?.payload.length, 70_001);
  assert.deepEqual(last, { opcode: 8, payload: Buffer.from([3, 232]) });
  assert.equal(frameOf(2, Buffer.alloc(200), Buffer.alloc(4)).length, 208);
});

test("a refusal is a typed error: the Pod is gone, or a right is missing", async () => {
  const refusing = (status: number, reason: string) => ({
    upgrade: () =>
      Promise.resolve<Upgraded>({
        ok: false,
        response: { status, body: { kind: "Status", reason, message: "no" } },
      }),
  });
  const tried = (status: number, reason: string) =>
    portForward(refusing(status, reason), systemRandom, request).catch((error: unknown) => error);
  assert.ok(isReason(await tried(404, "NotFound"), "NotFound"));
  assert.ok(isReason(await tried(403, "Forbidden"), "Forbidden"));
});

test("a local port leads each connection through, tells of failures and closes them all", async () => {
  const problems: unknown[] = [];
  let refuse = false;
  const port = await localPort(
    () => (refuse ? Promise.reject(new Error("gone")) : Promise.resolve(new PassThrough())),
    (error) => problems.push(error),
  );
  const dialled = () => connect({ host: "127.0.0.1", port: port.port });
  const [a, b] = [dialled(), dialled()];
  const echo = (socket: Socket, text: string) =>
    new Promise<string>((resolve) => {
      socket.once("data", (chunk) => resolve(String(chunk)));
      socket.write(text);
    });
  assert.deepEqual(await Promise.all([echo(a, "one"), echo(b, "two")]), ["one", "two"]);
  refuse = true;
  const refused = dialled();
  await new Promise((resolve) => refused.once("close", resolve).resume());
  assert.match(String(problems[0]), /gone/);
  const closed = [a, b].map((socket) => new Promise((resolve) => socket.once("close", resolve).resume()));
  await port.close();
  await Promise.all(closed);
});
