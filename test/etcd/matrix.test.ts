/**
 * The newest etcd of each supported minor, for real: had from whatever source this machine has, started,
 * written to, read from, stopped. On a cold cache this is where they are built.
 */
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import path from "node:path";
import process from "node:process";
import { text } from "node:stream/consumers";
import { test } from "node:test";
import { etcdPins } from "../../src/etcd/versions.ts";

const newest = etcdPins.filter((pin) => pin.role === "newest").map((pin) => pin.version);

test(
  "the newest etcd of each supported minor starts, writes, reads and stops",
  { timeout: 1_200_000 },
  async (t) => {
    const script = path.join(import.meta.dirname, "../../scripts/etcd-matrix.ts");
    const child = spawn(process.execPath, [script, ...newest], {
      stdio: ["ignore", "pipe", "inherit"],
      signal: t.signal,
    });
    const [output, [code]] = await Promise.all([
      text(child.stdout),
      once(child, "close") as Promise<[number]>,
    ]);
    const rows = output
      .trim()
      .split("\n")
      .slice(1)
      .map((line) => line.split(/\s{2,}/));
    assert.deepEqual(
      rows.map((row) => [row[0], row.at(-1)]),
      newest.map((version) => [version, "ok"]),
    );
    assert.equal(code, 0);
  },
);
