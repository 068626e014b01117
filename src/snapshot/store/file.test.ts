import assert from "node:assert/strict";
import {
  chmodSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import os from "node:os";
import path from "node:path";
import { test, type TestContext } from "node:test";
import { systemRandom } from "../../seams/random.ts";
import { never } from "../testing/fixtures.ts";
import { FileStore } from "./file.ts";
import { once, readText } from "./store.ts";

function storeIn(t: TestContext): { store: FileStore; dir: string } {
  const dir = mkdtempSync(path.join(os.tmpdir(), "quorate-store-"));
  t.after(() => rmSync(dir, { recursive: true, force: true }));
  return { store: new FileStore(path.join(dir, "backups"), systemRandom), dir: path.join(dir, "backups") };
}

async function namesIn(store: FileStore, prefix: string): Promise<string[]> {
  const names: string[] = [];
  for await (const { name } of store.list(prefix, never)) names.push(name);
  return names;
}

const write = { ifAbsent: true, signal: never };

test("an object is written whole, for this user alone, in directories that are made", async (t) => {
  const { store, dir } = storeIn(t);
  await store.put("a/b.db", once("hello"), write);
  assert.equal(readFileSync(path.join(dir, "a/b.db"), "utf8"), "hello");
  assert.equal(statSync(path.join(dir, "a/b.db")).mode & 0o777, 0o600);
  assert.equal(statSync(path.join(dir, "a")).mode & 0o777, 0o700);
  assert.deepEqual(readdirSync(path.join(dir, "a")), ["b.db"]);
});

test("a name that is taken is refused, also when it is taken meanwhile", async (t) => {
  const { store, dir } = storeIn(t);
  const late = async function* () {
    yield await Promise.resolve(Buffer.from("second"));
    writeFileSync(path.join(dir, "a.db"), "first");
  };
  await assert.rejects(store.put("a.db", late(), write), { kind: "exists" });
  await assert.rejects(store.put("a.db", once("third"), write), { kind: "exists" });
  assert.equal(readFileSync(path.join(dir, "a.db"), "utf8"), "first");
  assert.deepEqual(readdirSync(dir), ["a.db"]);
});

test("a source that fails half-way leaves nothing", async (t) => {
  const { store, dir } = storeIn(t);
  const failing = async function* () {
    yield await Promise.resolve(Buffer.from("half"));
    throw new Error("the member went away");
  };
  await assert.rejects(store.put("a.db", failing(), write), /went away/);
  assert.deepEqual(readdirSync(dir), []);
});

test("a part is read by range, a missing object is told as such", async (t) => {
  const { store } = storeIn(t);
  await store.put("a.db", once("0123456789"), write);
  const parts: Uint8Array[] = [];
  for await (const part of store.get("a.db", { signal: never, range: { start: 3, length: 4 } }))
    parts.push(new Uint8Array(part));
  assert.equal(Buffer.concat(parts).toString(), "3456");
  await assert.rejects(readText(store, "b.db", never), { kind: "not-found" });
  assert.equal(await store.head("b.db"), undefined);
});

test("a listing has every object by name, and no half-written or hidden file", async (t) => {
  const { store, dir } = storeIn(t);
  for (const name of ["b.db", "a/x.db", "a/y.db", "ab.db"]) await store.put(name, once("x"), write);
  writeFileSync(path.join(dir, ".b.db.1234.partial"), "half");
  const names = async (prefix: string) => await namesIn(store, prefix);
  assert.deepEqual(await names(""), ["a/x.db", "a/y.db", "ab.db", "b.db"]);
  assert.deepEqual(await names("a/"), ["a/x.db", "a/y.db"]);
  await store.delete("a/x.db");
  await store.delete("a/x.db");
  assert.deepEqual(await names("a"), ["a/y.db", "ab.db"]);
});

test("names that climb out of the store are refused", async (t) => {
  const { store } = storeIn(t);
  for (const name of ["../a", "a/../../b", "/etc/passwd", "a//b", "", "a\\b", "a\nb"])
    await assert.rejects(store.put(name, once("x"), write), { kind: "invalid" }, JSON.stringify(name));
});

test("what the system refuses is told with what to do", async (t) => {
  const { store, dir } = storeIn(t);
  await assert.rejects(namesIn(store, ""), { kind: "no-place" });
  mkdirSync(dir);
  writeFileSync(path.join(dir, "file"), "x");
  await assert.rejects(store.put("file/a.db", once("x"), write), { kind: "no-place" });
  if (process.getuid?.() === 0) return; // Root may write anywhere.
  chmodSync(dir, 0o500);
  await assert.rejects(store.put("a.db", once("x"), write), { kind: "denied" });
});
