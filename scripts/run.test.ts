import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test, type TestContext } from "node:test";
import { fileURLToPath } from "node:url";

const entry = fileURLToPath(new URL("run.mjs", import.meta.url));

/** An npm that "installs" by writing what npm would write last. */
const goodNpm = `#!/bin/sh
echo "$@" >> npm-calls
mkdir -p node_modules
cp package-lock.json node_modules/.package-lock.json
`;

/** A clone with a planted program behind \`npm run quorate\`, and a stand-in for npm. */
function clone(t: TestContext, program: string, npm = goodNpm): string {
  const root = mkdtempSync(join(tmpdir(), "quorate-run-"));
  t.after(() => rmSync(root, { recursive: true, force: true }));
  mkdirSync(join(root, "scripts"));
  mkdirSync(join(root, "src/cli"), { recursive: true });
  mkdirSync(join(root, "bin"));
  cpSync(entry, join(root, "scripts/run.mjs"));
  writeFileSync(join(root, "package.json"), '{ "type": "module" }');
  writeFileSync(join(root, "src/cli/main.ts"), program);
  writeFileSync(join(root, "bin/npm"), npm, { mode: 0o755 });
  writeLock(root, "1.0.0");
  return root;
}

function writeLock(root: string, version: string): void {
  const packages = { "": {}, "node_modules/a": { version }, "node_modules/b": { version, optional: true } };
  writeFileSync(join(root, "package-lock.json"), JSON.stringify({ packages }));
}

function start(root: string, args: string[]) {
  const env = { ...process.env, PATH: `${root}/bin:${process.env["PATH"]}`, npm_execpath: undefined };
  const child = spawn(process.execPath, [join(root, "scripts/run.mjs"), ...args], { cwd: root, env });
  let out = "";
  let err = "";
  child.stdout.setEncoding("utf8").on("data", (text: string) => (out += text));
  child.stderr.setEncoding("utf8").on("data", (text: string) => (err += text));
  const ended = once(child, "close").then(([code]) => ({ code: code as number, out, err }));
  return { child, ended };
}

const echo =
  'const args: string[] = process.argv.slice(2); console.log(args.join(" ")); process.exitCode = 7;';

test("a fresh clone is installed first, told with its time; then the task gets its arguments and keeps its exit code", async (t) => {
  const root = clone(t, echo);
  const { code, out, err } = await start(root, ["quorate", "etcd", "--help"]).ended;
  assert.equal(code, 7);
  assert.equal(out, "etcd --help\n");
  assert.match(err, /^Installing packages \(npm ci\) …\nInstalling packages: done in \d+\.\d s\n$/);
});

test("the second time nothing is installed; a changed lock brings the tree up to date without wiping it", async (t) => {
  const root = clone(t, echo);
  await start(root, ["quorate"]).ended;
  assert.equal((await start(root, ["quorate"]).ended).err, "");
  writeLock(root, "1.0.1");
  assert.match((await start(root, ["quorate"]).ended).err, /^Updating packages \(npm install\)/);
});

test("an optional package of another platform is not missed", async (t) => {
  const root = clone(t, echo);
  mkdirSync(join(root, "node_modules"));
  const packages = { "node_modules/a": { version: "1.0.0" } };
  writeFileSync(join(root, "node_modules/.package-lock.json"), JSON.stringify({ packages }));
  assert.equal((await start(root, ["quorate"]).ended).err, "");
});

test("an installation that fails shows what npm said and ends the task", async (t) => {
  const root = clone(t, echo, "#!/bin/sh\necho 'no route to the registry' >&2\nexit 1\n");
  const { code, out, err } = await start(root, ["quorate"]).ended;
  assert.equal(code, 1);
  assert.equal(out, "");
  assert.match(err, /no route to the registry\nnpm ci failed after/);
});

test("a signal reaches the task, which ends as it likes", async (t) => {
  const root = clone(
    t,
    `process.on("SIGTERM", () => process.exit(9)); setInterval(() => {}, 1000); console.log("up");`,
  );
  const { child, ended } = start(root, ["quorate"]);
  await once(child.stdout, "data");
  child.kill("SIGTERM");
  assert.equal((await ended).code, 9);
});

test("an unknown task and one without its file say what they miss", async (t) => {
  const root = clone(t, echo);
  assert.match((await start(root, ["tset"]).ended).err, /unknown task "tset": one of start, /);
  assert.match((await start(root, ["build"]).ended).err, /npm run build is not part of this checkout yet/);
});
