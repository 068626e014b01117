import assert from "node:assert/strict";
import { once } from "node:events";
import http2 from "node:http2";
import type { AddressInfo } from "node:net";
import { test, type TestContext } from "node:test";
import { setImmediate as turn } from "node:timers/promises";
import { Http2Failure } from "./failure.ts";
import { takenFrom } from "./stream.ts";

const MIB = 1024 * 1024;
const never = new AbortController().signal;

async function download(t: TestContext, send: (stream: http2.ServerHttp2Stream) => void) {
  const server = http2.createServer();
  server.on("stream", (stream) => {
    stream.on("error", () => undefined);
    stream.respond({ ":status": 200 });
    send(stream);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const session = http2.connect(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
  session.on("error", () => undefined);
  t.after(() => {
    session.destroy();
    server.close();
  });
  const stream = session.request({ ":path": "/" });
  stream.on("error", () => undefined);
  return stream;
}

test("each chunk is taken when it arrives, and what becomes of it is read in order, to the end", async (t) => {
  const stream = await download(t, (to) => to.end(Buffer.alloc(3 * MIB, 7)));
  let [taken, bytes] = [0, 0];
  // As a parser does that gathers chunks.
  const take = (chunk: Uint8Array) => {
    taken += chunk.length;
    return taken < MIB ? [] : [taken - bytes].map((size) => ((bytes += size), size));
  };
  let read = 0;
  for await (const size of takenFrom(stream, never, take)) read += size;
  assert.deepEqual([taken, read], [3 * MIB, 3 * MIB]);
});

test("a reader that stops to think has a bounded amount taken for it", async (t) => {
  const stream = await download(t, (to) => to.end(Buffer.alloc(24 * MIB)));
  let taken = 0;
  const take = (chunk: Uint8Array) => {
    taken += chunk.length;
    return [chunk];
  };
  let most = 0;
  let read = 0;
  for await (const chunk of takenFrom(stream, never, take)) {
    read += chunk.length;
    if (read % MIB < chunk.length) for (let i = 0; i < 20; i++) await turn();
    most = Math.max(most, taken - read);
  }
  assert.equal(read, 24 * MIB);
  assert.ok(most <= 2.5 * MIB, `${most} bytes ahead`);
});

test("what the parser throws ends the stream with its words, after what it gave before", async (t) => {
  const stream = await download(t, (to) => to.write(Buffer.alloc(MIB)));
  let calls = 0;
  const take = (chunk: Uint8Array) => {
    if (++calls > 2) throw new Error("no such message");
    return [chunk];
  };
  let read = 0;
  const reading = async () => {
    for await (const _ of takenFrom(stream, never, take)) read++;
  };
  await assert.rejects(
    reading(),
    (error) => error instanceof Http2Failure && /no such mess/.test(error.message),
  );
  assert.equal(read, 2);
  assert.equal(calls, 3, "nothing more is given to it");
  assert.equal(stream.closed, true);
});

test("an abort is a failure, also while nothing is handed on", async (t) => {
  const stop = new AbortController();
  const stream = await download(t, (to) => to.write(Buffer.alloc(10)));
  const reading = async () => {
    for await (const _ of takenFrom(stream, stop.signal, () => (stop.abort(), [])));
  };
  await assert.rejects(reading(), { fault: "cancelled" });
});
