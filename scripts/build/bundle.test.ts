import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { bundle } from "./bundle.ts";
import { smoke } from "./smoke.ts";

const root = fileURLToPath(new URL("../..", import.meta.url));

test("each program is one file that starts without node_modules beside it", async (t) => {
  const folder = mkdtempSync(join(tmpdir(), "quorate-build-"));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  const { version } = JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as { version: string };
  for (const { program, path } of await bundle(root, folder)) {
    assert.equal(await smoke(process.execPath, path), `${program} ${version}`);
    // Copied under another name, as kubectl finds plugins.
    cpSync(path, join(folder, "kubectl-etcd"));
    assert.equal(await smoke(process.execPath, join(folder, "kubectl-etcd")), `${program} ${version}`);
    const older = spawnSync(process.execPath, ["--import", PRETEND_NODE_20, path, "--version"], {
      encoding: "utf8",
    });
    assert.equal(older.status, 1);
    assert.match(
      older.stderr,
      /^quorate needs Node 24 or later, and this is v24.*npm run build -- --executable\n$/,
    );
  }
});

const PRETEND_NODE_20 =
  "data:text/javascript,Object.defineProperty(process,'versions',{value:{...process.versions,node:'20.0.0'}})";

test("what npm installs runs the bundle where there are no sources, whichever name it is called by", async (t) => {
  const folder = mkdtempSync(join(tmpdir(), "quorate-bin-"));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  const { bin, files } = JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as {
    bin: Record<string, string>;
    files: string[];
  };
  assert.deepEqual(Object.keys(bin), ["kubectl-etcd", "quorate"]);
  const clone = join(folder, "clone");
  await bundle(root, join(clone, "dist"));
  for (const part of ["bin", "package.json", "src/cli/main.ts"])
    cpSync(join(root, part), join(clone, part), { recursive: true });
  assert.ok(files.includes("bin") && files.includes("dist/quorate.mjs"));
  // An installation itself asks a registry for the dependencies, which the bundle does without.
  const pack = ["pack", "--ignore-scripts", "--offline", "--json", "--pack-destination", folder];
  const packed = spawnSync("npm", pack, { cwd: clone, encoding: "utf8" });
  assert.equal(packed.status, 0, packed.stderr);
  const [{ filename } = { filename: "" }] = JSON.parse(packed.stdout) as { filename: string }[];
  const unpacked = spawnSync("tar", ["-xzf", join(folder, filename), "-C", folder], { encoding: "utf8" });
  assert.equal(unpacked.status, 0, unpacked.stderr);
  const installed = join(folder, "package");
  assert.ok(!existsSync(join(installed, "src")), "the sources are left out");
  mkdirSync(join(folder, "bin"));
  for (const [name, target] of Object.entries(bin)) {
    symlinkSync(join(installed, target), join(folder, "bin", name));
    assert.match(await smoke(process.execPath, join(folder, "bin", name)), /\d+\.\d+\.\d+$/);
  }
});

test("what npm installs runs the sources of a clone that has no newer bundle", async () => {
  assert.match(await smoke(process.execPath, join(root, "bin/quorate.mjs")), /^quorate \d+\.\d+\.\d+$/);
});
