import assert from "node:assert/strict";
import { mkdtempSync, readdirSync, readFileSync, rmSync, utimesSync, writeFileSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import { test, type TestContext } from "node:test";
import { findOwn } from "../../../snapshot/own.ts";
import { parseResult } from "../../../snapshot/result.ts";
import { saveSnapshot } from "../../../snapshot/save.ts";
import { FileStore } from "../../../snapshot/store/file.ts";
import { StoreError } from "../../../snapshot/store/store.ts";
import { clientSending, sampleFile, surroundings } from "../../../snapshot/testing/fixtures.ts";
import { MemoryStore } from "../../../snapshot/testing/memory-store.ts";
import { systemRandom } from "../../../seams/random.ts";
import { UsageError } from "../../io.ts";
import { collectingIo } from "../../testing.ts";
import { verb } from "../snapshot.ts";
import { scratchIn } from "./build.ts";
import { deleteObsolete } from "./delete.ts";

const file = sampleFile();

async function folderWith(t: TestContext, count: number): Promise<string> {
  const dir = mkdtempSync(path.join(os.tmpdir(), "quorate-verbs-"));
  t.after(() => rmSync(dir, { recursive: true, force: true }));
  for (let i = 0; i < count; i++)
    await saveSnapshot({
      client: clientSending(file),
      store: new FileStore(dir, systemRandom),
      name: `s${i}.db`,
      ...surroundings,
      clock: { ...surroundings.clock, now: () => Date.UTC(2026, 0, 1, i) },
      compression: "none",
    });
  return dir;
}

async function run(...args: string[]): Promise<string> {
  return await runWith({}, ...args);
}

async function runWith(env: Record<string, string>, ...args: string[]): Promise<string> {
  const io = collectingIo({ cwd: os.tmpdir(), env });
  await verb.run(args, io);
  return io.out();
}

test("snapshots of a folder are listed, shown, verified and fetched", async (t) => {
  const dir = await folderWith(t, 2);
  writeFileSync(path.join(dir, "plain.db"), file);
  const list = await run("ls", dir);
  assert.match(list, /^NAME +STATE +TAKEN +REVISION +KEYS +SIZE +ETCD/);
  assert.match(list, /s0\.db +complete +2026-01-01T00:00:00Z +61 +60 +\S+ KiB +3\.6\.16/);
  assert.match(list, /plain\.db +plain/);
  assert.match(await run("status", path.join(dir, "s0.db")), /Revision +61\nTotal keys +60\n/);
  assert.match(await run("status", path.join(dir, "plain.db")), /Revision +61\nTotal keys +60\n/);
  assert.match(await run("verify", `file://${dir}/s0.db`), /matches its manifest/);
  await run("get", path.join(dir, "s1.db"), path.join(dir, "out/fetched.db"));
  assert.ok(readFileSync(path.join(dir, "out/fetched.db")).equals(file));
  await run("import", "--etcd-version", "3.6.16", path.join(dir, "plain.db"), path.join(dir, "imported/"));
  assert.match(await run("ls", path.join(dir, "imported/")), /complete .* 61 +60 .*3\.6\.16/);
});

test("a damaged snapshot is refused by every verb that reads it, and the target does not appear", async (t) => {
  const dir = await folderWith(t, 1);
  const damaged = Buffer.from(file);
  damaged[50_000] = (damaged[50_000] ?? 0) ^ 1;
  writeFileSync(path.join(dir, "s0.db"), damaged);
  const source = path.join(dir, "s0.db");
  await assert.rejects(run("verify", source), { code: 1, message: /is damaged.*Use another snapshot/ });
  await assert.rejects(run("get", source, path.join(dir, "fetched.db")), /is damaged/);
  await assert.rejects(run("copy", source, path.join(dir, "copy/")), /is damaged/);
  assert.deepEqual(
    readdirSync(dir).filter((name) => name.includes("fetched")),
    [],
  );
  assert.deepEqual(readdirSync(path.join(dir, "copy")), []);
});

test("pruning shows its plan, asks, and deletes with consent", async (t) => {
  const dir = await folderWith(t, 4);
  const args = ["prune", "--keep-last", "2", dir];
  assert.match(
    await run(...args, "--dry-run"),
    /keep +s3\.db +\(newest, last\)\nkeep +s2\.db.*\ndelete +s1\.db\ndelete +s0\.db/,
  );
  await assert.rejects(run(...args), { code: 6 });
  assert.equal(readdirSync(dir).length, 8);
  await run(...args, "--yes");
  assert.equal(readdirSync(dir).length, 4);
  await assert.rejects(run("prune", dir), UsageError);
  await assert.rejects(run("prune", "--keep-last", "-1", dir), UsageError);
});

test("a command line that cannot be meant is refused with what to write instead", async (t) => {
  const dir = await folderWith(t, 1);
  await assert.rejects(run("save", dir), /no endpoint: pass --endpoints, or --local/);
  await assert.rejects(run("save", "--endpoints", "http://127.0.0.1:1/path", dir), /an endpoint has no path/);
  await assert.rejects(
    run("save", "--endpoints", "http://127.0.0.1:1", "--encrypt", dir),
    /--encrypt needs a key/,
  );
  await assert.rejects(run("save", "--endpoints", "127.0.0.1:1", "--cert", "x", dir), /cannot read --cert x/);
  await assert.rejects(run("save", "--endpoints", "127.0.0.1:1", "--user", "root", dir), /ETCDCTL_PASSWORD/);
  await assert.rejects(run("get", dir, "x"), /is a folder: name one snapshot in it/);
  await assert.rejects(run("get", path.join(dir, "none.db"), "x"), { code: 3 });
  await assert.rejects(run("ls", "ftp://bucket/"), /s3:\/\/bucket\/prefix\/, gs:\/\/.* or file:\/\//);
  await assert.rejects(run("ls", "s3://"), /does not name a bucket/);
  await assert.rejects(run("verify", "--etcd-version", "3.6", path.join(dir, "s0.db")), /need --restore/);
  await assert.rejects(run("copy", `${dir}/`, path.join(dir, "s9.db")), /the target must be one too/);
});

test("a bucket is in the path or in the host name of requests, not in both", async () => {
  const hosts = "s3://b/ --s3-endpoint http://127.0.0.1:1 --s3-path-style --s3-virtual-host".split(" ");
  await assert.rejects(run("ls", ...hosts), {
    name: "UsageError",
    message: /--s3-path-style and --s3-virtual-host exclude each other/,
  });
});

test("a key without --encrypt is refused, from a file or from the environment", async (t) => {
  const dir = await folderWith(t, 0);
  const env = { QUORATE_SNAPSHOT_KEY: "0f".repeat(32) };
  const key = path.join(dir, "key");
  writeFileSync(key, env.QUORATE_SNAPSHOT_KEY);
  const save = ["save", "--endpoints", "http://127.0.0.1:1", `${dir}/`];
  await assert.rejects(run(...save, "--encryption-key-file", key), { code: 2, message: /add --encrypt/ });
  await assert.rejects(runWith(env, ...save), {
    code: 2,
    message: /QUORATE_SNAPSHOT_KEY.*plaintext: add --encrypt, or unset/,
  });
});

test("with a key file a plain snapshot is refused; a key in the environment leaves it readable", async (t) => {
  const dir = await folderWith(t, 1);
  const env = { QUORATE_SNAPSHOT_KEY: "0f".repeat(32) };
  const key = path.join(dir, "key");
  writeFileSync(key, env.QUORATE_SNAPSHOT_KEY);
  const source = path.join(dir, "s0.db");
  const refusal = { code: 1, message: /s0\.db is not encrypted, and a key was given/ };
  const target = path.join(dir, "fetched.db");
  await assert.rejects(run("verify", source, "--encryption-key-file", key), refusal);
  await assert.rejects(run("get", source, target, "--encryption-key-file", key), refusal);
  await assert.rejects(run("status", "--no-manifest", source, "--encryption-key-file", key), refusal);
  assert.match(await runWith(env, "verify", source), /matches its manifest/);
});

test("a member that cannot be reached is told with its endpoint", async (t) => {
  const dir = await folderWith(t, 0);
  await assert.rejects(
    run("save", "--endpoints", "http://127.0.0.1:1", `${dir}/`),
    /127\.0\.0\.1:1.*check the endpoints/,
  );
});

async function savedWith(dir: string, id: string): Promise<string> {
  const manifest = await saveSnapshot({
    client: clientSending(file),
    store: new FileStore(dir, systemRandom),
    name: "",
    id,
    ...surroundings,
    compression: "none",
  });
  return manifest.object;
}

test("a repeated save with the same ID reports what the first one finished, without asking etcd", async (t) => {
  const dir = await folderWith(t, 0);
  const object = await savedWith(dir, "nightly-1");
  await savedWith(dir, "nightly-1-2");
  const result = path.join(dir, "result.json");
  await run("save", "--id", "nightly-1", "--result-file", result, `${dir}/`);
  const told = parseResult(readFileSync(result, "utf8"));
  assert.ok(told?.ok);
  assert.deepEqual([told.snapshot?.object, told.snapshot?.revision], [object, 61]);
  await assert.rejects(run("save", "--id", "nightly-1", dir), /needs a folder/);
  await assert.rejects(run("save", "--id", "../x", `${dir}/`), /use lower-case letters/);
});

test("a folder that does not exist yet holds no snapshot, and none has to be deleted there", async (t) => {
  const dir = await folderWith(t, 0);
  const store = new FileStore(path.join(dir, "new"), systemRandom);
  assert.deepEqual(await findOwn(store, "nightly-1", surroundings.signal), []);
  await run("delete", "--id", "nightly-1", "--yes", `${dir}/new/`);
});

test("what a save fails with is in its result file, by a reason", async (t) => {
  const dir = await folderWith(t, 0);
  const result = path.join(dir, "result.json");
  const save = ["save", "--id", "a", "--result-file", result, "--endpoints", "http://127.0.0.1:1"];
  await assert.rejects(run(...save, `${dir}/`));
  const told = parseResult(readFileSync(result, "utf8"));
  assert.ok(told && !told.ok);
  assert.equal(told.reason, "EtcdFailed");
  await assert.rejects(run(...save, "--encrypt", "--encryption-key-file", result, `${dir}/`));
  const key = parseResult(readFileSync(result, "utf8"));
  assert.ok(key && !key.ok);
  assert.equal(key.reason, "InvalidKey");
});

test("deleting by an ID takes its objects and manifests, whole or not, and nothing else", async (t) => {
  const dir = await folderWith(t, 1);
  await savedWith(dir, "nightly-1");
  const other = await savedWith(dir, "nightly-1-2");
  writeFileSync(path.join(dir, "nightly-1-20260101T000000Z-abcd.db"), file);
  await assert.rejects(run("delete", "--id", "nightly-1", `${dir}/`), { code: 6 });
  await run("delete", "--id", "nightly-1", "--yes", `${dir}/`);
  await run("delete", "--id", "nightly-1", "--yes", `${dir}/`);
  assert.deepEqual(readdirSync(dir).toSorted(), [
    other,
    `${other}.manifest.json`,
    "s0.db",
    "s0.db.manifest.json",
  ]);
});

test("pruning names what it leaves and why, and deletes what a killed write left", async (t) => {
  const dir = await folderWith(t, 1);
  const [manifest, killed] = ["s0.db.manifest.json", ".s1.db.01234567.partial"].map((name) =>
    path.join(dir, name),
  );
  assert.ok(manifest && killed);
  const unknown = { ...(JSON.parse(readFileSync(manifest, "utf8")) as object), clusterId: "0" };
  writeFileSync(manifest, JSON.stringify(unknown));
  writeFileSync(killed, "x");
  const io = collectingIo({ cwd: os.tmpdir() });
  await verb.run(["ls", dir], io);
  assert.match(io.err(), /^\.s1\.db\.01234567\.partial has 1 B of a write that is under way or was killed; /);
  const args = ["prune", "--keep-last", "1", "--yes", dir];
  const left = /^leave {3}s0\.db {2}\(its cluster is not known: it was imported without --cluster-id\)$/m;
  assert.match(await run(...args), left);
  assert.equal(readdirSync(dir).length, 3);
  utimesSync(killed, 0, 0);
  assert.match(
    await run(...args),
    /^delete {2}\.s1\.db\.01234567\.partial {2}\(1 B that a killed write left\)$/m,
  );
  assert.deepEqual(readdirSync(dir).toSorted(), ["s0.db", "s0.db.manifest.json"]);
});

test("deleting by an ID takes what its killed attempts left, and leaves that of others", async (t) => {
  const dir = await folderWith(t, 0);
  const left = (id: string) => `.${id}-20260101T000000Z-abcd.db.01234567.partial`;
  for (const id of ["nightly-1", "nightly-1-2"]) writeFileSync(path.join(dir, left(id)), file);
  await assert.rejects(run("delete", "--id", "nightly-1", `${dir}/`), { code: 6 });
  await run("delete", "--id", "nightly-1", "--yes", `${dir}/`);
  assert.deepEqual(readdirSync(dir), [left("nightly-1-2")]);
});

test("changes that cannot be deleted keep no snapshot from being deleted", async () => {
  class Denying extends MemoryStore {
    override list(): ReturnType<MemoryStore["list"]> {
      throw new StoreError("denied", "listing is denied");
    }
  }
  const io = collectingIo();
  await deleteObsolete(new Denying(), io);
  assert.match(io.err(), /listing is denied; changes that no snapshot needs any more stay/);
});

test("what a build that was killed has left is removed by the next one with its ID", async (t) => {
  const dir = mkdtempSync(path.join(os.tmpdir(), "quorate-scratch-"));
  t.after(() => rmSync(dir, { recursive: true, force: true }));
  const first = await scratchIn(dir, "point-1");
  writeFileSync(path.join(first, "snapshot.db"), file);
  assert.equal(await scratchIn(dir, "point-1"), first);
  assert.deepEqual(readdirSync(first), []);
  assert.notEqual(await scratchIn(dir, undefined), await scratchIn(dir, undefined));
});

test("build says what is wrong with a point before it installs or starts anything", async (t) => {
  const dir = await folderWith(t, 2);
  const target = path.join(dir, "point.db");
  await assert.rejects(
    run("build", "--at-time", "yesterday", dir, target),
    /expected a time with its zone, such as/,
  );
  await assert.rejects(run("build", "--at-time", "2026-11-16T23:47:56", dir, target), UsageError);
  await assert.rejects(run("build", "--at-revision", "0", dir, target), /at least 1/);
  await assert.rejects(
    run("build", "--at-revision", "5", "--at-time", "2026-11-16T23:47:56Z", dir, target),
    /exclude each other/,
  );
  await assert.rejects(run("build", "--encrypt", dir, target), /--encrypt needs a key/);
  await assert.rejects(run("build", "--at-revision", "1", dir, target), /is before it/);
  await assert.rejects(
    run("build", "--at-revision", "9999", dir, target),
    /does not lead from revision \d+, that of s1.db, to 9999/,
  );
  await assert.rejects(
    run("build", "--at-time", "2026-11-16T23:47:56Z", dir, target),
    /nothing was recorded of the changes by/,
  );
  await assert.rejects(
    run("build", "--cluster-id", "def", dir, target),
    /no complete snapshot of cluster def/,
  );
  const empty = mkdtempSync(path.join(os.tmpdir(), "quorate-empty-"));
  t.after(() => rmSync(empty, { recursive: true, force: true }));
  await assert.rejects(run("build", empty, target), /take one first/);
  await assert.rejects(run("follow", "--interval", "10ms", empty), UsageError);
});
