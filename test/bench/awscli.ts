/** AWS's own command line, with which people upload what `etcdctl snapshot save` wrote: installed once into the cache. */
import { execFile } from "node:child_process";
import { existsSync, mkdirSync, renameSync, rmSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { acquire } from "../../testbed/lock.ts";
import { cacheDir } from "../../testbed/paths.ts";

const VERSION = "1.46.2";

/** The program, and the arguments that come before its own. */
export async function ensureAwsCli(): Promise<readonly [string, ...string[]]> {
  const dir = join(cacheDir(), "programs", `awscli-${VERSION}`);
  const lock = await acquire(dir, { purpose: "installing AWS's command line" });
  try {
    if (!existsSync(dir)) await install(dir);
  } finally {
    await lock.release();
  }
  // Not its script, which names the folder that it was installed in.
  return [join(dir, "bin", "python"), "-m", "awscli"];
}

async function install(dir: string): Promise<void> {
  const run = promisify(execFile);
  const work = `${dir}.installing`;
  rmSync(work, { recursive: true, force: true });
  mkdirSync(work, { recursive: true });
  await run("python3", ["-m", "venv", work]);
  await run(join(work, "bin", "python"), ["-m", "pip", "install", "--quiet", `awscli==${VERSION}`]);
  renameSync(work, dir);
}
