import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { blobOf, buildExecutables, inject, MACHINES } from "./executable.ts";

const root = fileURLToPath(new URL("../..", import.meta.url));

test("the executable says its version under both names, in an empty directory with an empty PATH", async (t) => {
  const folder = mkdtempSync(join(tmpdir(), "quorate-executable-"));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  const { version } = JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as { version: string };
  const own = MACHINES.filter((machine) => machine === process.arch);
  assert.deepEqual(own, [process.arch], "executables are made for this machine");
  const [made] = await buildExecutables(root, folder, own, () => {});
  assert.ok(made);
  assert.equal(made.version, `quorate ${version}`);
  assert.match(readFileSync(join(folder, "quorate-linux.LICENSES.txt"), "utf8"), /Node\.js contributors/);

  const empty = join(folder, "empty");
  mkdirSync(empty);
  symlinkSync(made.path, join(folder, "kubectl-etcd"));
  const run = (...args: string[]) =>
    spawnSync(join(folder, "kubectl-etcd"), args, { cwd: empty, env: { PATH: "" }, encoding: "utf8" });
  assert.match(run("--version").stdout, new RegExp(`${version.replaceAll(".", "\\.")}\\n`));
  const wrong = run("sttaus-of-nothing");
  assert.equal(wrong.status, 2, "exit codes are those of the program");
  assert.match(wrong.stderr, /unknown/);
});

test("the bundle is in the executable, marked for Node to run it; a second time is rejected", () => {
  const node = readFileSync(process.execPath);
  const made = inject(node, Buffer.from("blob"));
  assert.equal(blobOf(node), undefined);
  assert.equal(blobOf(made)?.toString(), "blob");
  assert.throws(() => inject(made, Buffer.from("blob")), /not exactly one unset fuse/);
});
