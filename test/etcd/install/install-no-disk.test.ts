/**
 * The installer on a disk that is too small, and on one that fills up while it works. A real one: a tmpfs,
 * which only root may mount.
 */
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { closeSync, mkdirSync, openSync, writeSync } from "node:fs";
import path from "node:path";
import process from "node:process";
import { test, type TestContext } from "node:test";
import { ensureEtcd, type EnsureOptions } from "../../../src/etcd/install/ensure.ts";
import { EtcdInstallError } from "../../../src/etcd/install/errors.ts";
import { systemClock } from "../../../src/seams/clock.ts";
import { leftIn, makeArchive, makePlace, startReleaseServer, type Place } from "./install-support.ts";

const VERSION = "3.6.16";

/** Mounts the place's cache; undefined (and the test is marked) where that is not allowed. */
function mountCache(place: Place, size: string, context: TestContext): Disposable | undefined {
  mkdirSync(place.cache);
  try {
    execFileSync("mount", ["-t", "tmpfs", "-o", `size=${size}`, "tmpfs", place.cache], { stdio: "pipe" });
  } catch (error) {
    // Root in CI: there a skipped test would hide a broken promise.
    if (process.env["CI"] === "true") throw error;
    context.skip("mounting a small disk needs root");
    return undefined;
  }
  return { [Symbol.dispose]: () => void execFileSync("umount", [place.cache]) };
}

async function refusesForDisk(options: EnsureOptions, message: RegExp): Promise<void> {
  await assert.rejects(ensureEtcd(VERSION, options), (error) => {
    assert.ok(error instanceof EtcdInstallError, String(error));
    assert.equal(error.code, "no-disk", error.message);
    assert.match(error.message, message);
    return true;
  });
}

test("a disk that is too small is refused before anything is downloaded", async (context) => {
  using place = makePlace();
  using disk = mountCache(place, "1m", context);
  if (!disk) return;
  await using server = await startReleaseServer();
  server.offer(VERSION, makeArchive(place, VERSION));
  const env = { ...place.env, QUORATE_ETCD_DOWNLOAD_URL: server.url };
  await refusesForDisk({ env, clock: systemClock }, /0 MiB free, about 250 MiB needed.*QUORATE_CACHE/);
  assert.ok(!server.requests.some((request) => request.endsWith(".tar.gz")));
  assert.deepEqual(leftIn(place.cache), []);
});

test("a disk that fills up during the download leaves nothing half-installed", async (context) => {
  using place = makePlace();
  using disk = mountCache(place, "256m", context);
  if (!disk) return;
  await using server = await startReleaseServer();
  const archive = makeArchive(place, VERSION);
  server.offer(VERSION, archive);
  server.onArchive(VERSION, (_, response) => {
    fill(path.join(place.cache, "somebody-else"));
    response.writeHead(200, { "content-length": archive.length }).end(archive);
  });
  const env = { ...place.env, QUORATE_ETCD_DOWNLOAD_URL: server.url };
  await refusesForDisk({ env, clock: systemClock }, /Nothing was installed/);
  assert.deepEqual(leftIn(place.cache), []);
});

/** Writes until there is no room for one more byte. */
function fill(file: string): void {
  const handle = openSync(file, "w");
  try {
    for (const size of [2 ** 20, 4096, 1]) {
      const chunk = Buffer.alloc(size);
      for (;;) if (!tryWrite(handle, chunk)) break;
    }
  } finally {
    closeSync(handle);
  }
}

function tryWrite(handle: number, chunk: Buffer): boolean {
  try {
    return writeSync(handle, chunk) === chunk.length;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOSPC") return false;
    throw error;
  }
}
