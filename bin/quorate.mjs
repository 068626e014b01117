#!/usr/bin/env node
/**
 * What npm installs as `quorate` and `kubectl-etcd` (`npx`, `npm link`, `npm install -g`). It runs on Node 20, finds the
 * Node 24 that the package brings along, and runs the bundle in it; in a clone whose sources are newer, the sources.
 */
import { spawn, spawnSync } from "node:child_process";
import { existsSync, readdirSync, statSync } from "node:fs";
import { createRequire } from "node:module";
import { constants } from "node:os";
import { basename, delimiter, dirname, join } from "node:path";
import process from "node:process";
import { fileURLToPath, pathToFileURL } from "node:url";

const WANTED_NODE = 24;
const root = dirname(dirname(fileURLToPath(import.meta.url)));
const program = findProgram();

// In this process when it can: `process.argv[1]` is the name by which the user called us, and stays so.
if (majorOf(process.version) >= WANTED_NODE) await import(pathToFileURL(program).href);
else await handOver(findNode());

function findProgram() {
  const bundle = join(root, "dist", "quorate.mjs");
  const sources = join(root, "src", "cli", "main.ts");
  const built = existsSync(bundle);
  if (!existsSync(sources)) return built ? bundle : fail(`${bundle} is missing: install quorate again`);
  if (built && statSync(bundle).mtimeMs > newestIn(join(root, "src"))) return bundle;
  if (existsSync(join(root, "node_modules", "zod"))) return sources;
  return fail(`The packages of ${root} are not installed. Run npm ci there, then this command again.`);
}

function newestIn(folder) {
  let newest = 0;
  for (const entry of readdirSync(folder, { withFileTypes: true })) {
    const path = join(folder, entry.name);
    newest = Math.max(newest, entry.isDirectory() ? newestIn(path) : statSync(path).mtimeMs);
  }
  return newest;
}

function findNode() {
  const candidates = [join(root, "node_modules", ".bin", "node")];
  try {
    const found = createRequire(import.meta.url).resolve(`node-linux-${process.arch}/package.json`);
    candidates.unshift(join(dirname(found), "bin", "node"));
  } catch {
    // Not for this platform, or installed without optional packages: PATH may have one.
  }
  for (const folder of (process.env.PATH ?? "").split(delimiter)) candidates.push(join(folder, "node"));
  for (const path of candidates) {
    if (!existsSync(path)) continue;
    if (majorOf(spawnSync(path, ["--version"], { encoding: "utf8" }).stdout ?? "") >= WANTED_NODE)
      return path;
  }
  return fail(
    `quorate needs Node ${WANTED_NODE} or later, and this is ${process.version}. The package brings one for Linux with ` +
      `glibc on x64 and arm64; elsewhere, install Node ${WANTED_NODE} and put it first in PATH.`,
  );
}

/** Same streams, signals passed on, same exit; `process.argv0` carries the name by which the user called us. */
async function handOver(node) {
  const child = spawn(node, [program, ...process.argv.slice(2)], {
    stdio: "inherit",
    argv0: basename(process.argv[1] ?? "quorate"),
  });
  const pass = (signal) => child.kill(signal);
  const passed = ["SIGINT", "SIGTERM", "SIGHUP"];
  for (const signal of passed) process.on(signal, pass);
  const [code, signal] = await new Promise((resolve) => {
    child.on("error", (error) => fail(`${node} does not start here: ${error.message}`));
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
