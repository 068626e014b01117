/**
 * The entry behind every npm script: `node scripts/run.mjs <task> [arguments]`.
 * It has no dependencies and runs on Node 20, because on a fresh clone there is nothing else. It installs
 * the packages when they are missing or differ from the lock (Node 24 is one of them), then hands over to
 * Node 24, which runs TypeScript directly.
 */
import { spawn, spawnSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { constants } from "node:os";
import { delimiter, dirname, join } from "node:path";
import process from "node:process";
import { fileURLToPath, pathToFileURL } from "node:url";

const root = dirname(dirname(fileURLToPath(import.meta.url)));

/** What each task runs, and the arguments that come before the caller's. */
const tasks = {
  start: ["src/cli/main.ts", "local", "up"],
  quorate: ["src/cli/main.ts"],
  test: ["scripts/test.ts"],
  "test:fast": ["scripts/test.ts", "--fast"],
  check: ["scripts/check.ts"],
  generate: ["scripts/generate.ts"],
  build: ["scripts/build.ts"],
  lock: ["scripts/lock.ts"],
  bench: ["scripts/bench.ts"],
  sim: ["sim/main.ts"],
  "sim:exhaustive": ["sim/rules/exhaustive/main.ts"],
  "sim:enumerate": ["sim/main.ts", "--operator", "--enumerate"],
  "sim:observations": ["sim/rules/observations.ts"],
  "sim:schema": ["sim/schema/main.ts"],
  "sim:conformance": ["test/conformance/main.ts"],
  e2e: ["scripts/test.ts", "--stage", "etcd", "--stage", "apiserver", "--stage", "nodes"],
  proof: ["sim/proof/main.ts"],
  "proof:planted": ["sim/proof/planted.ts"],
  "proof:mutation": ["sim/proof/mutation.ts"],
  crash: ["test/crash/main.ts"],
  linearizability: ["test/linear/main.ts"],
  testbed: ["testbed/main.ts"],
  "etcd:matrix": ["scripts/etcd-matrix.ts"],
  recording: ["scripts/recording.ts"],
};

const WANTED_NODE = 24;

await main(process.argv.slice(2));

async function main([task, ...args]) {
  const target = tasks[task];
  if (!target) fail(`unknown task ${JSON.stringify(task ?? "")}: one of ${Object.keys(tasks).join(", ")}`);
  const [file, ...before] = target;
  if (!existsSync(join(root, file))) fail(`npm run ${task} is not part of this checkout yet (no ${file})`);

  const installed = installState();
  if (installed !== "complete") await install(installed);

  // After the first install `npm run` already puts Node 24 first in PATH: no second process is needed.
  if (installed === "complete" && majorOf(process.version) >= WANTED_NODE) {
    process.argv = [process.execPath, join(root, file), ...before, ...args];
    await import(pathToFileURL(join(root, file)).href);
    return;
  }
  await handOver(findNode(), [join(root, file), ...before, ...args]);
}

/** Compares what npm says it installed with what the lock asks for; a few milliseconds. */
function installState() {
  const hidden = join(root, "node_modules", ".package-lock.json");
  if (!existsSync(hidden)) return "missing";
  const wanted = JSON.parse(readFileSync(join(root, "package-lock.json"), "utf8")).packages;
  const present = JSON.parse(readFileSync(hidden, "utf8")).packages;
  for (const [location, entry] of Object.entries(wanted)) {
    if (location === "") continue;
    const found = present[location];
    if (!found && entry.optional) continue;
    if (found?.version !== entry.version) return "outdated";
  }
  return "complete";
}

/** `npm ci` on a fresh clone; a running tree is brought up to date without being wiped first. */
async function install(state) {
  const args = state === "missing" ? ["ci"] : ["install", "--no-save"];
  const what = state === "missing" ? "Installing packages" : "Updating packages";
  const started = performance.now();
  const seconds = () => `${((performance.now() - started) / 1000).toFixed(1)} s`;
  const terminal = process.stderr.isTTY;
  if (!terminal) process.stderr.write(`${what} (npm ${args[0]}) …\n`);
  const draw = () => process.stderr.write(`\r${what} (npm ${args[0]}) … ${seconds()} `);
  const ticker = terminal ? setInterval(draw, 200) : undefined;

  const npm = npmCommand();
  const child = spawn(npm[0], [...npm.slice(1), ...args], { cwd: root, stdio: ["ignore", "pipe", "pipe"] });
  const output = [];
  child.stdout.on("data", (chunk) => output.push(chunk));
  child.stderr.on("data", (chunk) => output.push(chunk));
  const code = await new Promise((resolve) => {
    child.on("error", (error) => {
      output.push(`${error.message}\n`);
      resolve(127);
    });
    child.on("close", (status) => resolve(status ?? 1));
  });
  clearInterval(ticker);
  if (terminal) process.stderr.write("\r\u001b[K");
  if (code !== 0) {
    process.stderr.write(output.join(""));
    fail(`npm ${args[0]} failed after ${seconds()} (above). Is the npm registry reachable?`);
  }
  process.stderr.write(`${what}: done in ${seconds()}\n`);
}

/** The npm that started us, when it did; otherwise the one on PATH. */
function npmCommand() {
  const running = process.env.npm_execpath;
  if (running?.endsWith("npm-cli.js")) return [process.execPath, running];
  return [process.platform === "win32" ? "npm.cmd" : "npm"];
}

function findNode() {
  const packaged = join(root, "node_modules", ".bin", "node");
  if (existsSync(packaged)) return packaged;
  const candidates = [process.execPath];
  for (const folder of (process.env.PATH ?? "").split(delimiter)) candidates.push(join(folder, "node"));
  for (const path of candidates) {
    if (!existsSync(path)) continue;
    const version = spawnSync(path, ["--version"], { encoding: "utf8" }).stdout ?? "";
    if (majorOf(version) >= WANTED_NODE) return path;
  }
  return fail(
    `Node ${WANTED_NODE} is needed and was not found: there is no packaged one for ` +
      `${process.platform}-${process.arch}, and PATH has only ${process.version}.\n` +
      `Install Node ${WANTED_NODE} or newer, put it first in PATH, and run the command again.`,
  );
}

/** Runs `node args` in our place: same streams, signals passed on, same exit. */
async function handOver(node, args) {
  const env = { ...process.env, PATH: `${dirname(node)}${delimiter}${process.env.PATH ?? ""}` };
  const child = spawn(node, args, { stdio: "inherit", env });
  const pass = (signal) => child.kill(signal);
  const passed = ["SIGINT", "SIGTERM", "SIGHUP"];
  for (const signal of passed) process.on(signal, pass);
  const [code, signal] = await new Promise((resolve) => {
    child.on("error", (error) => fail(`${node} does not start here (${error.message}): it needs glibc`));
    child.on("exit", (...how) => resolve(how));
  });
  for (const name of passed) process.off(name, pass);
  process.exitCode = signal ? 128 + constants.signals[signal] : code;
}

function majorOf(version) {
  return Number(/^v(\d+)\./.exec(version)?.[1] ?? 0);
}

function fail(message) {
  process.stderr.write(`${message}\n`);
  process.exit(1);
}
