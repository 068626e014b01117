import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
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
import fs from "node:fs/promises";
import { syncBuiltinESMExports } from "node:module";
import os from "node:os";
import path from "node:path";
import { test, type TestContext } from "node:test";
import { systemRandom } from "../../seams/random.ts";
import { systemDisk } from "../../seams/disk.ts";
import { fetchForRestore } from "../fetch.ts";
import { manifestName } from "../manifest.ts";
import { restoreErrorOf } from "../restore-error.ts";
import { saveSnapshot } from "../save.ts";
import { clientSending, never, sampleFile, surroundings } from "../testing/fixtures.ts";
import { FileStore } from "./file.ts";
import { once, readText, type Leftover } from "./store.ts";

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

/** A process that is killed in the middle of a write. */
const KILLED = `
  const [, stores, dir] = process.argv;
  const { FileStore } = await import(stores + "/file.ts");
  const { systemRandom } = await import(stores + "/../../seams/random.ts");
  const body = async function* () {
    yield Buffer.alloc(100_000);
    yield Buffer.alloc(1);
    yield Buffer.alloc(1);
    process.kill(process.pid, "SIGKILL");
    await new Promise(() => {});
  };
  await new FileStore(dir, systemRandom).put("a.db", body(), { ifAbsent: true, signal: new AbortController().signal });
`;

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

test("what a killed write left is found by the object that it was of, and deleted by its own name", async (t) => {
  const { store, dir } = storeIn(t);
  const leftovers = async (folder: string) => {
    const found: Leftover[] = [];
    for await (const leftover of store.leftovers(folder, never)) found.push(leftover);
    return found.map(({ name, of, size }) => [name, of, size]);
  };
  assert.deepEqual(await leftovers(""), []);
  const killed = spawnSync(process.execPath, ["--input-type=module", "-e", KILLED, import.meta.dirname, dir]);
  assert.equal(killed.signal, "SIGKILL", killed.stderr.toString());
  const [found] = await leftovers("");
  const [name, of, size] = found ?? [];
  assert.ok(typeof name === "string");
  assert.match(name, /^\.a\.db\.[0-9a-f]{8}\.partial$/);
  assert.equal(of, "a.db");
  // The last block may have been written or not.
  assert.ok(Number(size) >= 100_000, `${size}`);
  mkdirSync(path.join(dir, "b"));
  for (const file of [".x.db.12345678.partial", ".x.db.1234.partial", ".partial", "x.12345678.partial"])
    writeFileSync(path.join(dir, "b", file), "x");
  assert.deepEqual(await leftovers("b/"), [["b/.x.db.12345678.partial", "b/x.db", 1]]);
  await store.delete(name);
  assert.deepEqual(await leftovers(""), []);
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

/** Writes below `dir` take so many bytes and then fail so, as on a disk that is full. */
function failing(t: TestContext, dir: string, after: number, code: string): void {
  const { open } = fs;
  fs.open = async (...asked) => {
    const handle = await open(...asked);
    if (!String(asked[0]).startsWith(dir)) return handle;
    const write = handle.write.bind(handle) as (...given: unknown[]) => Promise<{ bytesWritten: number }>;
    let left = after;
    handle.write = (async (buffer: Uint8Array, at: number, length: number) => {
      if (left === 0) throw Object.assign(new Error(`${code}: write`), { code, syscall: "write" });
      const written = await write(buffer, at, Math.min(length, left));
      left -= written.bytesWritten;
      return written;
    }) as typeof handle.write;
    return handle;
  };
  syncBuiltinESMExports();
  t.after(() => {
    fs.open = open;
    syncBuiltinESMExports();
  });
}

for (const [code, kind, fault] of [
  ["ENOSPC", "full", "space"],
  ["EDQUOT", "full", "space"],
  ["EIO", "failed", "failed"],
] as const)
  test(`a disk that fails with ${code} is told as ${kind}, and neither a snapshot nor a restore is half there`, async (t) => {
    const { store, dir } = storeIn(t);
    const file = sampleFile();
    const save = async (name: string) =>
      await saveSnapshot({ ...surroundings, client: clientSending(file), store, name, compression: "none" });
    const { sha256 } = await save("good.db");
    failing(t, dir, 100_000, code);
    await assert.rejects(save("a.db"), { kind });
    assert.deepEqual(readdirSync(dir).toSorted(), ["good.db", manifestName("good.db")]);
    const directory = path.join(dir, "volume");
    const source = { file: { path: path.join(dir, "good.db") } };
    const context = { ...surroundings, cwd: "/", env: {}, disk: systemDisk };
    const restore = { source, checksum: sha256 };
    const fetching = fetchForRestore({ restore, etcdVersion: "3.6.16", directory, context, signal: never });
    await assert.rejects(fetching, (error) => restoreErrorOf(error).fault === fault);
    assert.deepEqual(readdirSync(directory), []);
  });
