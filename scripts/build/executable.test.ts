import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { fileURLToPath } from "node:url";
import { machineOf, type Machine } from "./elf.ts";
import { blobOf, buildExecutables, inject, MACHINES, type Executable } from "./executable.ts";
import { chosenNode, NODE_SITE } from "./official-node.ts";

const root = fileURLToPath(new URL("../..", import.meta.url));

let folder: string;
let made: Executable[];
/** Why there is none for the other machine. */
let lacking: string | undefined;

const npmNode = (machine: Machine) => chosenNode(root, machine, { choice: "npm", site: NODE_SITE }, () => {});

before(async () => {
  folder = mkdtempSync(join(tmpdir(), "quorate-executable-"));
  // Its Node is fetched once, and cached.
  const others = MACHINES.filter((machine) => machine !== process.arch);
  await Promise.all(others.map(npmNode)).catch((error: unknown) => {
    if (process.env["CI"] === "true") throw error;
    lacking = String(error);
  });
  const machines = MACHINES.filter((machine) => lacking === undefined || machine === process.arch);
  made = await buildExecutables(root, folder, machines, npmNode, () => {});
});

after(() => rmSync(folder, { recursive: true, force: true }));

test("the executable says its version under both names, in an empty directory with an empty PATH", () => {
  const { version } = JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as { version: string };
  const own = made.find(({ machine }) => machine === process.arch);
  assert.ok(own, "executables are made for this machine");
  assert.equal(own.version, `quorate ${version}`);
  assert.match(readFileSync(join(folder, "quorate-linux.LICENSES.txt"), "utf8"), /Node\.js contributors/);

  const empty = join(folder, "empty");
  mkdirSync(empty);
  symlinkSync(own.path, join(folder, "kubectl-etcd"));
  const run = (...args: string[]) =>
    spawnSync(join(folder, "kubectl-etcd"), args, { cwd: empty, env: { PATH: "" }, encoding: "utf8" });
  assert.match(run("--version").stdout, new RegExp(`${version.replaceAll(".", "\\.")}\\n`));
  const wrong = run("sttaus-of-nothing");
  assert.equal(wrong.status, 2, "exit codes are those of the program");
  assert.match(wrong.stderr, /unknown/);
});

test("the executable of the other machine is for it, and holds the same program", (t) => {
  if (lacking !== undefined) return t.skip(lacking);
  assert.deepEqual(
    made.map(({ machine }) => machine),
    MACHINES,
  );
  const [blob, ...others] = made.map(({ machine, path, bytes }) => {
    const executable = readFileSync(path);
    assert.equal(machineOf(executable), machine);
    assert.equal(executable.length, bytes);
    assert.ok(statSync(path).mode & 0o111, `${path} may be executed`);
    const { metadata } = JSON.parse(readFileSync(`${path}.cdx.json`, "utf8")) as {
      metadata: { component: { name: string } };
    };
    assert.equal(metadata.component.name, `quorate-linux-${machine}`);
    return blobOf(executable);
  });
  assert.ok(blob && blob.length > 100_000);
  for (const other of others) assert.ok(other?.equals(blob));
});

test("the bundle is in the executable, marked for Node to run it; a second time is rejected", () => {
  const node = readFileSync(process.execPath);
  const made = inject(node, Buffer.from("blob"));
  assert.equal(blobOf(node), undefined);
  assert.equal(blobOf(made)?.toString(), "blob");
  assert.throws(() => inject(made, Buffer.from("blob")), /not exactly one unset fuse/);
});
