import assert from "node:assert/strict";
import { test } from "node:test";
import { RecordSplitter, SEPARATOR, type StageRecord } from "./records.ts";

test("records and the tests' own output are told apart, however the chunks fall", () => {
  const remark = { kind: "remark", text: "line\nbreak" };
  const stream = `hello ${SEPARATOR}${JSON.stringify(remark)}\nworld\n${SEPARATOR}${JSON.stringify(remark)}\n${SEPARATOR}{"half`;
  for (const size of [1, 7, stream.length]) {
    const records: StageRecord[] = [];
    let output = "";
    const splitter = new RecordSplitter(
      (record) => records.push(record),
      (text) => (output += text),
    );
    for (let at = 0; at < stream.length; at += size) splitter.write(stream.slice(at, at + size));
    splitter.end();
    assert.deepEqual(records, [remark, remark]);
    assert.equal(output, `hello world\n${SEPARATOR}{"half`);
  }
});
