import assert from "node:assert/strict";
import { Readable } from "node:stream";
import { test } from "node:test";
import { systemClock } from "../seams/clock.ts";
import { systemRandom } from "../seams/random.ts";
import { run } from "./etcd.ts";
import { UsageError, type CliIo } from "./io.ts";

function testIo(): CliIo & { out: string[]; err: string[] } {
  const out: string[] = [];
  const err: string[] = [];
  return {
    out,
    err,
    stdin: Readable.from([]),
    stdout: { write: (text) => out.push(text) },
    stderr: { write: (text) => err.push(text) },
    env: { QUORATE_CACHE: "/nonexistent/quorate", PATH: "/nonexistent" },
    cwd: "/",
    isTTY: false,
    signal: new AbortController().signal,
    clock: systemClock,
    random: systemRandom,
  };
}

test("a wrong command line is told what is wrong with it", async () => {
  const cases: [string[], RegExp][] = [
    [[], /install, list or path/],
    [["remove"], /got remove/],
    [["install"], /needs a version/],
    [["list", "3.6"], /takes no version/],
    [["install", "3.6", "3.5"], /too many arguments: 3.5/],
    [["install", "3.6", "-o", "yaml"], /the only supported format is json/],
    [["install", "3.6", "--source", "ftp"], /use one of dir, path, release, go, debian/],
    [["list", "--wrong"], /wrong/],
  ];
  for (const [args, message] of cases) {
    await assert.rejects(run(args, testIo()), (error) => {
      assert.ok(error instanceof UsageError);
      assert.match(error.message, message);
      return true;
    });
  }
});

test("an unknown version is answered with the known ones and the way to use one's own", async () => {
  const io = testIo();
  assert.equal(await run(["install", "3.9.1", "-o", "json"], io), 1);
  const answer = JSON.parse(io.out.join("")) as { error: { code: string; message: string } };
  assert.equal(answer.error.code, "unknown-version");
  assert.match(answer.error.message, /Known versions: 3\.7\.\d+, .*QUORATE_ETCD_DIR/);
  assert.match(io.err.join(""), /etcd 3\.9\.1/);
});

test("list shows every pinned version, also when none is installed", async () => {
  const io = testIo();
  assert.equal(await run(["list"], io), 0);
  assert.match(
    io.out.join(""),
    /^VERSION +ROLE +SOURCE +SIZE +WHERE\n3\.7\.\d+ +newest +- +- +not installed\n/,
  );
});

test("path of a version that is not there names the command that installs it", async () => {
  const io = testIo();
  assert.equal(await run(["path", "3.6"], io), 1);
  assert.match(io.err.join(""), /quorate etcd install 3\.6/);
});
