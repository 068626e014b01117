/**
 * The installer against a release server on loopback, a stand-in for `go`, and other processes: what it
 * takes from where, and that nothing is ever half-installed.
 */
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import process from "node:process";
import { test } from "node:test";
import { ensureEtcd, type EnsureOptions } from "../../../src/etcd/install/ensure.ts";
import { EtcdInstallError, type EtcdInstallErrorCode } from "../../../src/etcd/install/errors.ts";
import { systemClock } from "../../../src/seams/clock.ts";
import {
  fakeGo,
  leftIn,
  makeArchive,
  makePlace,
  startReleaseServer,
  writePrograms,
  type Place,
  type ReleaseServer,
} from "./install-support.ts";

const VERSION = "3.6.16";

function optionsOf(place: Place, server?: ReleaseServer): EnsureOptions {
  // Without a server nothing must leave the machine: port 1 on loopback refuses at once.
  const url = server?.url ?? "http://127.0.0.1:1";
  // The signal ends a wait that would otherwise outlive a failed test.
  const signal = AbortSignal.timeout(60_000);
  return { env: { ...place.env, QUORATE_ETCD_DOWNLOAD_URL: url }, clock: systemClock, signal };
}

async function refuses(
  promise: Promise<unknown>,
  code: EtcdInstallErrorCode,
  message: RegExp,
): Promise<void> {
  await assert.rejects(promise, (error) => {
    assert.ok(error instanceof EtcdInstallError, String(error));
    assert.equal(error.code, code, error.message);
    assert.match(error.message, message);
    return true;
  });
}

/** Polls until `check` holds. */
async function until(what: string, check: () => boolean): Promise<void> {
  const limit = performance.now() + 60_000;
  while (!check()) {
    if (performance.now() > limit) throw new Error(`not within 60 s: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

test("a good archive is installed whole, and the second time nothing is asked of the server", async () => {
  using place = makePlace();
  await using server = await startReleaseServer();
  server.offer(VERSION, makeArchive(place, VERSION));
  const found = await ensureEtcd(VERSION, optionsOf(place, server));
  assert.equal(found.source, "release");
  assert.equal(found.dir, path.join(place.cache, "etcd", VERSION));
  assert.deepEqual(leftIn(place.cache), [VERSION]);
  assert.match(readFileSync(found.etcdutl ?? "", "utf8"), /etcdutl version: 3\.6\.16/);

  const asked = server.requests.length;
  assert.deepEqual(await ensureEtcd("3.6", optionsOf(place, server)), found);
  assert.equal(server.requests.length, asked);
});

test("an archive whose hash is not in SHA256SUMS is refused", async () => {
  using place = makePlace();
  await using server = await startReleaseServer();
  server.offer(VERSION, makeArchive(place, VERSION), "ab".repeat(32));
  await refuses(ensureEtcd(VERSION, optionsOf(place, server)), "wrong-checksum", /SHA256SUMS lists abab/);
  assert.deepEqual(leftIn(place.cache), []);
});

test("a transfer that breaks off is refused", async () => {
  using place = makePlace();
  await using server = await startReleaseServer();
  const archive = makeArchive(place, VERSION);
  server.offer(VERSION, archive);
  server.onArchive(VERSION, (_, response) => {
    response.writeHead(200, { "content-length": archive.length });
    response.write(archive.subarray(0, 100), () => response.destroy());
  });
  const message = new RegExp(`ended after \\d+ of ${archive.length} bytes`);
  await refuses(ensureEtcd(VERSION, optionsOf(place, server)), "bad-archive", message);
  assert.deepEqual(leftIn(place.cache), []);
});

test("an archive that was published truncated is refused, though its hash is right", async () => {
  using place = makePlace();
  await using server = await startReleaseServer();
  server.offer(VERSION, makeArchive(place, VERSION).subarray(0, 200));
  await refuses(ensureEtcd(VERSION, optionsOf(place, server)), "bad-archive", /cannot be unpacked/);
  assert.deepEqual(leftIn(place.cache), []);
});

test("an archive with another version inside is refused", async () => {
  using place = makePlace();
  await using server = await startReleaseServer();
  server.offer(VERSION, makeArchive(place, VERSION, "3.6.15"));
  await refuses(ensureEtcd(VERSION, optionsOf(place, server)), "wrong-binary", /says it is 3\.6\.15/);
  assert.deepEqual(leftIn(place.cache), []);
});

test("a version the release server does not have comes from the next source", async () => {
  using place = makePlace();
  await using server = await startReleaseServer();
  fakeGo(place, VERSION, 0);
  const found = await ensureEtcd(VERSION, optionsOf(place, server));
  assert.equal(found.source, "go");
  assert.ok(server.requests.includes(`GET /v${VERSION}/SHA256SUMS`));
});

test("when no source has the version, the error says what each answered", async () => {
  using place = makePlace();
  await using server = await startReleaseServer();
  const message = /release: .*SHA256SUMS answered 404.*go: there is no working go on PATH.*QUORATE_ETCD_DIR/;
  await refuses(ensureEtcd(VERSION, optionsOf(place, server)), "no-source", message);
  await refuses(
    ensureEtcd("3.4.23", optionsOf(place, server)),
    "no-source",
    /debian: this machine has no apt-get/,
  );
  assert.deepEqual(leftIn(place.cache), []);
});

test("the server is probed once, and its absence is remembered for the next version", async () => {
  using place = makePlace();
  await using server = await startReleaseServer();
  server.offer("3.6.16", makeArchive(place, "3.6.16"));
  server.offer("3.7.3", makeArchive(place, "3.7.3"));
  await ensureEtcd("3.6.16", optionsOf(place, server));
  await ensureEtcd("3.7.3", optionsOf(place, server));
  assert.equal(server.requests.filter((request) => request.startsWith("HEAD")).length, 1);

  using offline = makePlace();
  await refuses(ensureEtcd("3.6.16", optionsOf(offline)), "no-source", /cannot be reached/);
  const memory = JSON.parse(
    readFileSync(path.join(offline.cache, "etcd/.release-server.json"), "utf8"),
  ) as object;
  assert.deepEqual({ ...memory, at: 0 }, { url: "http://127.0.0.1:1", online: false, at: 0 });
});

test("QUORATE_ETCD_DIR comes first, then PATH, then the cache", async () => {
  using place = makePlace();
  await using server = await startReleaseServer();
  server.offer(VERSION, makeArchive(place, VERSION));
  const options = optionsOf(place, server);
  assert.equal((await ensureEtcd(VERSION, options)).source, "release");
  writePrograms(place.bin, VERSION);
  assert.equal((await ensureEtcd(VERSION, options)).source, "path");
  const own = path.join(place.root, "own");
  writePrograms(path.join(own, VERSION), VERSION);
  const withDir = { ...options, env: { ...options.env, QUORATE_ETCD_DIR: own } };
  const found = await ensureEtcd(VERSION, withDir);
  assert.deepEqual([found.source, found.dir], ["dir", path.join(own, VERSION)]);
});

test("a version that is not pinned is taken from QUORATE_ETCD_DIR, and otherwise unknown", async () => {
  using place = makePlace();
  const own = path.join(place.root, "own");
  writePrograms(own, "3.6.2");
  const options = { ...optionsOf(place), env: { ...optionsOf(place).env, QUORATE_ETCD_DIR: own } };
  assert.equal((await ensureEtcd("3.6.2", options)).etcd, path.join(own, "etcd"));
  await refuses(ensureEtcd("3.6.3", options), "unknown-version", /Known versions: .*own\/etcd is 3\.6\.2/);
  await refuses(ensureEtcd("newest", options), "unknown-version", /Known versions/);
});

test("binaries on PATH that are incomplete or of another version are not used", async () => {
  using place = makePlace();
  writePrograms(place.bin, VERSION, ["etcd", "etcdctl"]);
  await refuses(
    ensureEtcd(VERSION, optionsOf(place)),
    "no-source",
    /on PATH: etcdutl of 3\.6\.16 is not there/,
  );
  writePrograms(place.bin, "3.6.15");
  await refuses(ensureEtcd(VERSION, optionsOf(place)), "no-source", /bin\/etcd is 3\.6\.15/);
});

test("a cached version that lost a program is installed anew", async () => {
  using place = makePlace();
  fakeGo(place, VERSION, 0);
  const found = await ensureEtcd(VERSION, optionsOf(place));
  writeFileSync(found.etcdctl, "");
  await ensureEtcd(VERSION, optionsOf(place));
  assert.match(readFileSync(found.etcdctl, "utf8"), /etcdctl version/);
  assert.deepEqual(leftIn(place.cache), [VERSION]);
});

test("a build that fails shows the compiler's last words", async () => {
  using place = makePlace();
  fakeGo(place, VERSION, 0, "server.go:1: undefined: quorum");
  await refuses(ensureEtcd(VERSION, optionsOf(place)), "build-failed", /undefined: quorum/);
  assert.deepEqual(leftIn(place.cache), []);
});

test("a compiler that runs out of disk is told apart from a build that fails", async () => {
  using place = makePlace();
  fakeGo(place, VERSION, 0, "write etcd: no space left on device");
  await refuses(ensureEtcd(VERSION, optionsOf(place)), "no-disk", /QUORATE_CACHE/);
  assert.deepEqual(leftIn(place.cache), []);
});

test("a cache that cannot be written is named, with the way out", async () => {
  using place = makePlace();
  writeFileSync(place.cache, "a file where the cache should be");
  await refuses(ensureEtcd(VERSION, optionsOf(place)), "cache-not-writable", /Set QUORATE_CACHE/);
});

test("an installation that is called off ends its compiler and leaves nothing", async () => {
  using place = makePlace();
  const go = fakeGo(place, VERSION, 600);
  const stop = new AbortController();
  const install = ensureEtcd(VERSION, { ...optionsOf(place), signal: stop.signal });
  const refused = refuses(install, "aborted", /interrupted/);
  await until("a build has begun", () => go.builds().length === 1);
  stop.abort(new Error("enough"));
  await refused;
  const compiler = Number.parseInt(go.builds()[0] ?? "", 10);
  await until("the compiler is gone", () => !isRunning(compiler));
  assert.deepEqual(leftIn(place.cache), []);
});

test("an installer that was killed leaves no version behind, and the next one cleans up after it", async () => {
  using place = makePlace();
  await using server = await startReleaseServer();
  const archive = makeArchive(place, VERSION);
  server.offer(VERSION, archive);
  server.onArchive(VERSION, (_, response) => {
    response.writeHead(200, { "content-length": archive.length });
    response.write(archive.subarray(0, 100));
  });
  const child = spawnInstaller(place, server.url);
  await until("the download has begun", () => server.requests.some((request) => request.endsWith(".tar.gz")));
  child.kill("SIGKILL");
  await once(child, "close");
  assert.ok(!leftIn(place.cache).includes(VERSION));
  assert.ok(leftIn(place.cache).length > 0, "its staging directory and lock are still there");

  server.offer(VERSION, archive);
  await ensureEtcd(VERSION, optionsOf(place, server));
  assert.deepEqual(leftIn(place.cache), [VERSION]);
});

test("a lock whose pid now belongs to another process is stale", async () => {
  using place = makePlace();
  fakeGo(place, VERSION, 0);
  mkdirSync(path.join(place.cache, "etcd"), { recursive: true });
  const holder = JSON.stringify({ pid: process.pid, started: "long ago" });
  writeFileSync(path.join(place.cache, "etcd", `.${VERSION}.lock-1`), holder);
  await ensureEtcd(VERSION, optionsOf(place));
  assert.deepEqual(leftIn(place.cache), [VERSION]);
});

test("processes and callers that want the same version at once build it once", async () => {
  using place = makePlace();
  const go = fakeGo(place, VERSION, 0.5);
  const reported: string[] = [];
  const options: EnsureOptions = {
    ...optionsOf(place),
    progress: (progress) => reported.push(progress.text),
  };
  const children = [spawnInstaller(place), spawnInstaller(place)];
  const codes = children.map(async (child) => ((await once(child, "close")) as [number])[0]);
  const found = await Promise.all([ensureEtcd(VERSION, options), ensureEtcd(VERSION, options)]);
  assert.deepEqual(await Promise.all(codes), [0, 0]);
  assert.deepEqual(found[0], found[1]);
  assert.deepEqual(
    go.builds().map((line) => line.split(" ")[1]),
    ["etcd", "etcdctl", "etcdutl"],
  );
  assert.ok(reported.some((text) => /waiting for process \d+/.test(text)));
  assert.deepEqual(leftIn(place.cache), [VERSION]);
});

function spawnInstaller(place: Place, url = "http://127.0.0.1:1") {
  const script = path.join(import.meta.dirname, "install-child.ts");
  const env = { ...place.env, QUORATE_ETCD_DOWNLOAD_URL: url };
  return spawn(process.execPath, [script, VERSION], { env, stdio: ["ignore", "ignore", "inherit"] });
}

function isRunning(pid: number): boolean {
  try {
    // A killed process whose parent is gone too may stay a zombie where nobody reaps: it does not run.
    return !/\) Z /.test(readFileSync(`/proc/${pid}/stat`, "utf8"));
  } catch {
    return false;
  }
}
