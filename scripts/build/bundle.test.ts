import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { bundle, bundleInParts } from "./bundle.ts";
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

test("in parts it starts as well, and an operator reads what it runs and nothing that is rare", async (t) => {
  const folder = mkdtempSync(join(tmpdir(), "quorate-parts-"));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  const { files, licenses } = await bundleInParts(root, folder);
  const program = join(folder, files[0] ?? "");
  assert.match(await smoke(process.execPath, program), /^quorate \d+\.\d+\.\d+$/);
  assert.match(readFileSync(licenses, "utf8"), /reflect-metadata|tslib/);
  const { stdout, status } = spawnSync(
    process.execPath,
    ["--import", TELL_WHAT_IS_READ, program, "operator", "--help"],
    { encoding: "utf8" },
  );
  assert.equal(status, 0);
  const read = new Set(stdout.match(/^read: .*$/gm)?.map((line) => line.slice("read: ".length)));
  const sizeOf = (paths: readonly string[]) =>
    paths.reduce((sum, path) => sum + statSync(join(folder, path)).size, 0);
  const ofOperator = files.filter((path) => read.has(basename(path)));
  assert.ok(ofOperator.length > 1 && sizeOf(ofOperator) < 0.6 * sizeOf(files), `${sizeOf(ofOperator)} bytes`);
  const partOf = (name: string) => files.find((path) => basename(path).startsWith(`${name}-`)) ?? name;
  for (const rare of ["x509", "yaml", "s3", "local"])
    assert.ok(!ofOperator.includes(partOf(rare)) && files.includes(partOf(rare)), rare);
  // Packages in CommonJS, whose names a bundler may lose.
  const [x509, yaml] = await Promise.all(
    ["x509", "yaml"].map(
      async (name) => (await import(join(folder, partOf(name)))) as Readonly<Record<string, unknown>>,
    ),
  );
  assert.equal(typeof x509?.["X509CertificateGenerator"], "function");
  assert.equal(typeof yaml?.["parse"], "function");
});

/** Before the program runs: each module that is loaded, by the name of its file. */
const TELL_WHAT_IS_READ = `data:text/javascript,${encodeURIComponent(`
  import { registerHooks } from "node:module";
  registerHooks({ load(url, context, next) {
    if (url.startsWith("file:")) console.log("read: " + url.split("/").at(-1));
    return next(url, context);
  } });
`)}`;

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
