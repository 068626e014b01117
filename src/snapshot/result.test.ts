import assert from "node:assert/strict";
import { test } from "node:test";
import { parseResult, writeResult, type SnapshotResult } from "./result.ts";

const SNAPSHOT: SnapshotResult = {
  object: "a.db",
  size: 5,
  storedSize: 4,
  sha256: "f".repeat(64),
  revision: 3,
  totalKeys: 2,
  etcdVersion: "3.6.16",
  clusterID: "53a67049d75b715",
  takenFrom: "demo-1",
};

test("what a process writes at its end is read again", () => {
  const results = [
    { ok: true },
    { ok: true, snapshot: SNAPSHOT },
    { ok: true, verified: { rtoMs: 4_000, revision: 3, totalKeys: 2, hashCompared: true } },
    { ok: false, reason: "StoreDenied", message: "denied" },
  ] as const;
  for (const result of results) assert.deepEqual(parseResult(writeResult(result)), result);
});

test("it fits into the termination message of a container", () => {
  const message = "\u{1F4BE}".repeat(5_000);
  const text = writeResult({ ok: false, reason: "StoreUnreachable", message });
  assert.ok(Buffer.byteLength(text) <= 4096, String(Buffer.byteLength(text)));
  assert.equal(parseResult(text)?.ok, false);
});

test("other last words of a container are not taken for a result", () => {
  const texts = [undefined, "", "Killed", "{", "{}", '{"ok":1}', '{"ok":false}', '{"ok":true,"snapshot":{}}'];
  for (const text of texts) assert.equal(parseResult(text), undefined, text);
  const odd = JSON.stringify({ ok: true, snapshot: { ...SNAPSHOT, size: "5" } });
  assert.equal(parseResult(odd), undefined);
  const more = JSON.stringify({ ok: true, snapshot: { ...SNAPSHOT, extra: 1 } });
  assert.equal(parseResult(more), undefined);
  const half = JSON.stringify({ ok: true, verified: { rtoMs: 4_000, revision: 3 } });
  assert.equal(parseResult(half), undefined);
});
