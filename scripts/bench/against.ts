/**
 * `npm run bench -- --against <commit>`: the benchmarks that only compute, on this tree and on the tree of a commit in
 * turn, so that a busy minute falls on both. Both are measured by the benchmarks of this tree, which are copied into the
 * other one: only what they call differs. The packages are those of this tree, too.
 */
import { execFileSync, spawnSync } from "node:child_process";
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Measured } from "../../test/bench/measure.ts";
import { compared, type Round } from "./compared.ts";

/** What only computes, and what it measures with. */
export const COMPUTING = "test/bench/computing/";
const MEASURE = "test/bench/measure.ts";
const ROUNDS = 5;

export interface Against {
  readonly root: string;
  readonly commit: string;
  /** Paths from the root, all of them of COMPUTING. */
  readonly files: readonly string[];
  readonly rounds?: number;
}

/** Prints the figures of both; with an exit code: 1 where something is slower than it was. */
export function runAgainst({ root, commit, files, rounds = ROUNDS }: Against): number {
  const folder = mkdtempSync(join(tmpdir(), "quorate-bench-"));
  const stop = () => {
    rmSync(folder, { recursive: true, force: true });
    process.exit(130);
  };
  for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, stop);
  try {
    const hash = revisionOf(root, commit);
    if (hash === undefined) {
      console.error(`--against ${commit}: there is no such commit`);
      return 2;
    }
    const other = join(folder, "tree");
    unpack(root, hash, other);
    let code = 0;
    for (const file of files) {
      console.log(`▶ ${file}, against ${hash.slice(0, 8)}, ${rounds} rounds`);
      code = Math.max(code, one(file, { here: root, there: other }, rounds, join(folder, "records")));
    }
    return code;
  } finally {
    for (const signal of ["SIGINT", "SIGTERM"] as const) process.off(signal, stop);
    rmSync(folder, { recursive: true, force: true });
  }
}

type Trees = Readonly<Record<keyof Round, string>>;

function one(file: string, trees: Trees, rounds: number, records: string): number {
  const measured: Round[] = [];
  for (let i = 0; i < rounds; i++) {
    const run = (tree: keyof Round) => measuredBy(join(trees[tree], file), trees[tree], records);
    // Whoever comes second finds warm caches of the disk, or a warm processor.
    const [here, there] =
      i % 2 === 0 ? [run("here"), run("there")] : ([run("there"), run("here")].toReversed() as Runs);
    for (const [tree, { failure }] of Object.entries({ here, there })) {
      if (failure === undefined) continue;
      console.error(`✖ ${file} ${tree === "here" ? "failed" : "cannot run on the other tree"}: ${failure}`);
      return 1;
    }
    measured.push({ here: here.measured, there: there.measured });
  }
  const { lines, isSlower } = compared(measured);
  for (const line of lines) console.log(`  ${line}`);
  return isSlower ? 1 : 0;
}

interface Run {
  readonly measured: readonly Measured[];
  readonly failure?: string;
}
type Runs = [Run, Run];

function measuredBy(path: string, cwd: string, records: string): Run {
  rmSync(records, { force: true });
  const env = { ...process.env, QUORATE_BENCH_RECORD: records };
  const { status, signal, stderr } = spawnSync(process.execPath, [path], { cwd, env, encoding: "utf8" });
  if (status !== 0) return { measured: [], failure: `it ended with ${status ?? signal}\n${stderr.trim()}` };
  const lines = existsSync(records) ? readFileSync(records, "utf8").split("\n").filter(Boolean) : [];
  return { measured: lines.map((line) => JSON.parse(line) as Measured) };
}

function revisionOf(root: string, commit: string): string | undefined {
  const args = ["rev-parse", "--verify", "--quiet", "--end-of-options", `${commit}^{commit}`];
  const { status, stdout } = spawnSync("git", args, { cwd: root, encoding: "utf8" });
  return status === 0 ? stdout.trim() : undefined;
}

/** An archive leaves nothing behind in the repository, whatever ends us. */
function unpack(root: string, hash: string, folder: string): void {
  mkdirSync(folder);
  const archive = execFileSync("git", ["archive", hash], { cwd: root, maxBuffer: 512 * 1024 * 1024 });
  execFileSync("tar", ["-x", "-C", folder], { input: archive });
  symlinkSync(join(root, "node_modules"), join(folder, "node_modules"));
  for (const path of [COMPUTING, MEASURE])
    cpSync(join(root, path), join(folder, path), { recursive: true, force: true });
}
