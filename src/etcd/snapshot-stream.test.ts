import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { test } from "node:test";
import fc from "fast-check";
import { EtcdClient } from "./client.ts";
import { digestAllButTail } from "./snapshot-stream.ts";
import { endpoints, FakeTransport, interrupted, ManualClock, type StreamScript } from "./testing.ts";

const database = Buffer.from("the whole database ".repeat(20));
const trailer = createHash("sha256").update(database).digest();
const [endpoint] = endpoints("a");

function snapshotOf(streams: StreamScript) {
  const clock = new ManualClock();
  const transport = new FakeTransport(() => ({}), streams);
  const client = new EtcdClient({ transport, clock, endpoints: endpoints("a") });
  if (endpoint === undefined) throw new Error("no endpoint");
  const stream = client.maintenance.snapshot(endpoint);
  const read = async () => {
    const parts: Uint8Array[] = [];
    for await (const part of stream) parts.push(part);
    return Buffer.concat(parts);
  };
  return { stream, read, clock };
}

test("a snapshot is whole when the hash at its end matches, and its result says so (R23)", async () => {
  const { stream, read } = snapshotOf(() => [
    { blob: database.subarray(0, 100), remainingBytes: BigInt(database.length - 100), version: "3.6.0" },
    { blob: database.subarray(100) },
    { blob: trailer },
  ]);
  assert.deepEqual(await read(), Buffer.concat([database, trailer]));
  assert.deepEqual(stream.result, {
    size: database.length + 32,
    sha256: trailer.toString("hex"),
    version: "3.6.0",
  });
  assert.equal(stream.expectedSize, database.length + 32);
});

test("a snapshot with one wrong byte ends with an error and has no result", async () => {
  const wrong = Buffer.from(database);
  wrong[7] = 0;
  const { stream, read } = snapshotOf(() => [{ blob: wrong }, { blob: trailer }]);
  await assert.rejects(read(), { kind: "snapshot-damaged" });
  assert.equal(stream.result, undefined);
});

test("a snapshot that breaks off, or is cut where a message ends, is not taken for whole", async () => {
  await assert.rejects(snapshotOf(() => [{ blob: database }, interrupted()]).read(), { kind: "unavailable" });
  await assert.rejects(snapshotOf(() => [{ blob: database }]).read(), { kind: "snapshot-damaged" });
  await assert.rejects(snapshotOf(() => []).read(), { kind: "snapshot-damaged" });
});

test("a member that falls silent ends the snapshot; a slow reader does not", async () => {
  const { stream, clock } = snapshotOf(() => [{ blob: database }, "silence"]);
  const reader = stream[Symbol.asyncIterator]();
  await reader.next();
  await clock.advance(100_000); // The reader thinks.
  const next = assert.rejects(reader.next() as Promise<unknown>, { kind: "deadline" });
  await clock.advance(30_000);
  await next;
  assert.equal(clock.pending, 0);
});

test("the trailing hash is found however the bytes are cut", () => {
  fc.assert(
    fc.property(fc.array(fc.nat(90), { maxLength: 12 }), (cuts) => {
      const hash = createHash("sha256");
      const whole = Buffer.concat([database, trailer]);
      let tail = new Uint8Array(0);
      let at = 0;
      for (const length of [...cuts, whole.length]) {
        tail = digestAllButTail(hash, tail, whole.subarray(at, at + length));
        at = Math.min(whole.length, at + length);
      }
      assert.deepEqual(Buffer.from(tail), trailer);
      assert.deepEqual(hash.digest(), trailer);
    }),
  );
});
