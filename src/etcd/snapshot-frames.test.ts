import assert from "node:assert/strict";
import { test } from "node:test";
import { create, toBinary } from "@bufbuild/protobuf";
import fc from "fast-check";
import { encodeFrame, FramingError } from "./grpc/frame.ts";
import { Maintenance } from "./proto/rpc_pb.ts";
import { SnapshotFrames } from "./snapshot-frames.ts";

const schema = Maintenance.method.snapshot.output;

test("the database comes out as it went in, however the network cuts the messages", () => {
  fc.assert(
    fc.property(
      fc.array(fc.uint8Array({ maxLength: 300 }), { minLength: 1, maxLength: 6 }),
      fc.array(fc.integer({ min: 1, max: 40 }), { minLength: 1, maxLength: 20 }),
      (blobs, cuts) => {
        const total = blobs.reduce((sum, { length }) => sum + length, 0);
        let left = total;
        const wire = Buffer.concat(
          blobs.map((blob) => {
            left -= blob.length;
            const header = { clusterId: 2n ** 64n - 1n, memberId: 5n, revision: 9n, raftTerm: 1n };
            const message = create(schema, { header, blob, remainingBytes: BigInt(left), version: "3.6.16" });
            return encodeFrame(toBinary(schema, message));
          }),
        );
        const frames = new SnapshotFrames();
        const parts: Uint8Array[] = [];
        for (let at = 0, i = 0; at < wire.length; at += cuts[i++ % cuts.length] ?? 1)
          parts.push(...frames.push(wire.subarray(at, at + (cuts[i % cuts.length] ?? 1))));
        assert.ok(Buffer.concat(parts).equals(Buffer.concat(blobs)));
        assert.equal(frames.pending, false);
        assert.equal(frames.version, "3.6.16");
        if ((blobs[0]?.length ?? 0) > 0) assert.equal(frames.announced, total);
      },
    ),
  );
});

test("what is not such a stream is refused", () => {
  const push = (...bytes: number[]) => [...new SnapshotFrames().push(Uint8Array.from(bytes))];
  assert.throws(() => push(1, 0, 0, 0, 0), FramingError);
  assert.throws(() => push(0, 0, 0, 0, 2, 0x1a, 9), /longer than its message/);
  assert.throws(() => push(0, 0, 0, 0, 1, 0x1a), /ends within a field/);
  assert.throws(() => push(0, 0, 0, 0, 2, 0x19, 0), /kind 1/);
  const frames = new SnapshotFrames();
  assert.deepEqual([...frames.push(Uint8Array.from([0, 0, 0]))], []);
  assert.equal(frames.pending, true);
});
