/** The operator of an earlier commit, from the history of this repository, to be run in place of this one. */
import { execFileSync } from "node:child_process";
import { mkdirSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import type { Operator } from "../../src/operator/runtime.ts";

const ROOT = join(import.meta.dirname, "../..");

export interface Release extends Disposable {
  readonly Operator: typeof Operator;
}

/** Undefined in a copy without that commit: a shallow clone, or files without a repository. */
export async function earlierRelease(commit: string): Promise<Release | undefined> {
  const git = (...args: string[]) =>
    execFileSync("git", args, { cwd: ROOT, maxBuffer: 2 ** 30, stdio: ["ignore", "pipe", "ignore"] });
  let archive: Buffer;
  try {
    archive = git("archive", "--format=tar", commit, "src", "package.json");
  } catch {
    return undefined;
  }
  const dir = join(tmpdir(), `quorate-${commit}-${process.pid}`);
  mkdirSync(dir, { recursive: true });
  execFileSync("tar", ["-x", "-C", dir], { input: archive });
  symlinkSync(join(ROOT, "node_modules"), join(dir, "node_modules"));
  const found: unknown = await import(pathToFileURL(join(dir, "src/operator/runtime.ts")).href);
  return {
    Operator: (found as { Operator: typeof Operator }).Operator,
    [Symbol.dispose]: () => rmSync(dir, { recursive: true, force: true }),
  };
}
