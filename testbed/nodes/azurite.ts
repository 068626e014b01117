/**
 * Azurite, Microsoft's own emulator of Azure Storage: installed once into the cache from a lock of its own, since it is
 * no dependency of the product. npm compares every package with the hash in the lock, and runs no script of any.
 */
import { spawn } from "node:child_process";
import { copyFileSync, existsSync, mkdirSync, readFileSync, renameSync, rmSync } from "node:fs";
import { join } from "node:path";
import { elapsed, ToolMissing, type Progress } from "../kubernetes-build.ts";
import { acquire } from "../lock.ts";
import { cacheDir, shortHash } from "../paths.ts";

const SOURCES = join(import.meta.dirname, "..", "azurite");
const FILES = ["package.json", "package-lock.json"] as const;
/** Its blob service alone. */
const MAIN = join("node_modules", "azurite", "dist", "src", "blob", "main.js");
const ARGS = ["ci", "--ignore-scripts", "--omit=dev", "--omit=optional", "--no-audit", "--no-fund"];

function target(): string {
  const texts = FILES.map((file) => readFileSync(join(SOURCES, file), "utf8"));
  return join(cacheDir(), "programs", `azurite-${shortHash(...texts)}`);
}

/** The script that Node runs; installed first if it is not there. */
export async function ensureAzurite(progress: Progress = () => {}): Promise<string> {
  const dir = target();
  if (existsSync(dir)) return join(dir, MAIN);
  const lock = await acquire(dir, {
    purpose: "installing Azurite",
    waiting: (holder) => progress(`waiting for another process: ${holder}`),
  });
  try {
    if (!existsSync(dir)) await install(dir, progress);
  } finally {
    await lock.release();
  }
  return join(dir, MAIN);
}

async function install(dir: string, progress: Progress): Promise<void> {
  const work = `${dir}.installing`;
  rmSync(work, { recursive: true, force: true });
  mkdirSync(work, { recursive: true });
  for (const file of FILES) copyFileSync(join(SOURCES, file), join(work, file));
  const started = Date.now();
  const tick = setInterval(() => progress(`installing Azurite: ${elapsed(started)}`), 1000);
  try {
    await npm(work);
    if (!existsSync(join(work, MAIN))) throw new Error(`installing Azurite made no ${MAIN}`);
    renameSync(work, dir);
  } finally {
    clearInterval(tick);
  }
}

async function npm(cwd: string): Promise<void> {
  const running = process.env["npm_execpath"];
  const [command, before] = running?.endsWith("npm-cli.js") ? [process.execPath, [running]] : ["npm", []];
  const child = spawn(command, [...before, ...ARGS], { cwd, stdio: ["ignore", "ignore", "pipe"] });
  let said = "";
  child.stderr.on("data", (part: Buffer) => (said = `${said}${part.toString()}`.slice(-4_000)));
  const code = await new Promise<number | null>((resolve, reject) =>
    child
      .on("error", (error) => reject(new ToolMissing(`Azurite is installed by npm: ${error.message}`)))
      .on("close", resolve),
  );
  if (code !== 0)
    throw new ToolMissing(`installing Azurite failed (npm ${ARGS[0]}, exit code ${code}):\n${said}`);
}
