import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { encodeFrame, FrameDecoder, FramingError } from "./frame.ts";

test("messages come out as they went in, wherever the network cuts them", () => {
  const messages = fc.array(fc.uint8Array({ maxLength: 40 }), { maxLength: 8 });
  fc.assert(
    fc.property(messages, fc.array(fc.nat(20), { maxLength: 20 }), (sent, cuts) => {
      const wire = Buffer.concat(sent.map((message) => encodeFrame(message)));
      const decoder = new FrameDecoder();
      const got: Uint8Array[] = [];
      let at = 0;
      for (const length of [...cuts, wire.length]) {
        got.push(...decoder.push(wire.subarray(at, at + length)));
        at = Math.min(wire.length, at + length);
      }
      assert.deepEqual(
        got.map((message) => [...message]),
        sent.map((message) => [...message]),
      );
      assert.equal(decoder.pending, false);
    }),
  );
});

test("an incomplete message is pending", () => {
  const decoder = new FrameDecoder();
  assert.deepEqual([...decoder.push(encodeFrame(new Uint8Array(9)).subarray(0, 7))], []);
  assert.equal(decoder.pending, true);
});

test("a compressed message and an absurd length are refused", () => {
  assert.throws(() => [...new FrameDecoder().push(Buffer.from([1, 0, 0, 0, 0]))], FramingError);
  assert.throws(() => [...new FrameDecoder().push(Buffer.from([0, 0xff, 0, 0, 0]))], FramingError);
});

test("a message that is longer than was agreed is refused when its length is known, before it is kept", () => {
  const frame = encodeFrame(new Uint8Array(101));
  assert.throws(
    () => [...new FrameDecoder(100).push(frame.subarray(0, 5))],
    /101 bytes; at most 100 are accepted/,
  );
  assert.equal([...new FrameDecoder(101).push(frame)].length, 1);
});
