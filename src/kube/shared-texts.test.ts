import assert from "node:assert/strict";
import { test } from "node:test";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import type { KubeObject } from "./resources.ts";
import { SharedTexts } from "./shared-texts.ts";
import { Store } from "./store.ts";

test("a text stays what it is, and only those that were seen lately are remembered", () => {
  const texts = new SharedTexts();
  for (let i = 0; i < 50_000; i++) {
    const text = `a text that nothing else has: ${i}`;
    assert.equal(texts.of(text), text);
  }
  assert.ok(texts.size <= 4_000, String(texts.size));
  for (const text of ["", "short", "x".repeat(100_000)]) assert.equal(texts.of(text), text);
});

test("texts that are replaced again and again do not fill the memory", () => {
  const texts = new SharedTexts();
  for (let i = 0; i < 1_000; i++) texts.of(`${i}${"x".repeat(20_000)}`);
  // A million characters, twice, and no more than one text above each.
  assert.ok(texts.size * 20_000 <= 2_100_000, String(texts.size));
  const before = texts.size;
  texts.of("x".repeat(100_000));
  assert.equal(texts.size, before, "nor does one that is longer than anything that objects repeat");
});

test("what many cached objects repeat takes memory once", () => {
  setFlagsFromString("--expose-gc");
  const collect = runInNewContext("gc") as () => void;
  const used = () => {
    collect();
    return process.memoryUsage().heapUsed;
  };
  const certificate = "c".repeat(20_000);
  const object = (name: string, resourceVersion = "7") =>
    JSON.parse(
      JSON.stringify({
        metadata: { name, uid: name, resourceVersion },
        data: { ca: certificate, list: [certificate] },
      }),
    ) as KubeObject & { data: { ca: string; list: string[] } };
  const store = new Store<ReturnType<typeof object>>();
  const before = used();
  store.handle({ type: "restarted" });
  for (let i = 0; i < 100; i++) store.handle({ type: "applied", object: object(`listed-${i}`) });
  store.handle({ type: "synced", resourceVersion: "8" });
  for (let i = 0; i < 100; i++) store.wrote(object(`written-${i}`, "9"));
  const grown = used() - before;
  assert.ok(grown < 1_000_000, `${grown} bytes for 200 objects that would take 8 MB`);
  assert.equal(store.size, 200);
  assert.deepEqual(store.get("listed-1")?.data, { ca: certificate, list: [certificate] });
});
