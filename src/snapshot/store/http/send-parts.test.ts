import assert from "node:assert/strict";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { test } from "node:test";
import { never } from "../../testing/fixtures.ts";
import { HttpClient } from "./http.ts";
import { PART_BYTES, Parts } from "./parts.ts";
import { sendParts } from "./send-parts.ts";

/** `count` parts, each of one number, and a short one at the end. */
async function* numbered(count: number): AsyncGenerator<Uint8Array> {
  const piece = new Uint8Array(PART_BYTES / 4);
  for (let part = 1; part <= count; part++)
    for (let i = 0; i < 4; i++) yield await Promise.resolve(piece.fill(part));
  yield Uint8Array.of(count + 1);
}

test("parts are sent from a few buffers that are used again, each only after it was sent", async () => {
  const parts = new Parts(numbered(6));
  const { bytes: first } = await parts.next();
  const buffers = new Set<unknown>();
  const sent: number[] = [];
  const { count, size } = await sendParts(
    first,
    parts,
    { most: 100, doing: "write a" },
    async (bytes, number) => {
      buffers.add(bytes.buffer);
      // Later ones are sent while the third of each three waits.
      for (let i = 0; i < (number % 3) * 20; i++) await new Promise(setImmediate);
      assert.ok(bytes.equals(Buffer.alloc(bytes.length, number)), `part ${number} is still itself`);
      sent.push(bytes.length);
    },
  );
  assert.deepEqual([count, size], [7, 6 * PART_BYTES + 1]);
  assert.equal(sent.filter((length) => length === PART_BYTES).length, 6);
  assert.ok(buffers.size <= 3, `${buffers.size} buffers`);
});

test("a request that is answered before its whole body was sent is ended, and sends nothing more", async (t) => {
  const server = createServer((request, response) => {
    // Answers without reading, as a proxy in front of a store does.
    response.writeHead(503).end("busy");
    request.pause();
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  const closed = new Promise<number>((resolve) =>
    server.once("connection", (socket) => socket.once("close", () => resolve(socket.bytesRead))),
  );
  const client = new HttpClient();
  t.after(() => client.close());
  const { status } = await client.whole({
    method: "PUT",
    origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    path: "/",
    headers: {},
    body: new Uint8Array(8 * PART_BYTES),
    signal: never,
  });
  assert.equal(status, 503);
  assert.ok((await closed) < 8 * PART_BYTES);
});
