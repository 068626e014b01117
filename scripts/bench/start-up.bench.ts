/**
 * How long the program takes to start and how much memory it holds then, from sources and as a bundle.
 */
import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { bundle, programs } from "../build/bundle.ts";

const RUNS = 15;
const root = fileURLToPath(new URL("../..", import.meta.url));
/** Loaded first, it tells the peak memory on standard error when the program ends. */
const probe = `data:text/javascript,process.on("exit",()=>process.stderr.write(String(process.resourceUsage().maxRSS)))`;

const folder = mkdtempSync(join(tmpdir(), "quorate-bench-"));
try {
  for (const { program, path } of await bundle(root, folder)) {
    measure(`${program}, from sources`, join(root, programs[program] ?? ""));
    measure(`${program}, bundled`, path);
  }
} finally {
  rmSync(folder, { recursive: true, force: true });
}

function measure(what: string, file: string): void {
  const times: number[] = [];
  let kilobytes = 0;
  for (let run = 0; run < RUNS; run += 1) {
    const started = performance.now();
    const { status, stderr } = spawnSync(process.execPath, ["--import", probe, file, "--version"], {
      encoding: "utf8",
    });
    if (status !== 0) throw new Error(`${file} --version ended with ${status}: ${stderr}`);
    times.push(performance.now() - started);
    kilobytes = Math.max(kilobytes, Number(stderr));
  }
  const sorted = times.toSorted((a, b) => a - b);
  const at = (share: number) => (sorted[Math.floor(share * (sorted.length - 1))] ?? 0).toFixed(0);
  const memory = (kilobytes / 1024).toFixed(0);
  console.log(
    `  ${what}: median ${at(0.5)} ms, ${at(0)} to ${at(1)} ms, at most ${memory} MiB (${RUNS} runs)`,
  );
}
