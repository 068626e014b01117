/**
 * `npm run recording`: records docs/healing.svg, the picture in the README. It runs a real cluster with
 * `quorate local up` in a temporary directory, wipes a member, and keeps what `quorate local status` prints until
 * the cluster matches its spec again. The times in it are the real ones; it plays slower where one could not read it.
 */
import { execFileSync, spawn } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { renderReport } from "../src/cli/local/report.ts";
import { layout } from "../src/local/layout.ts";
import type { LocalReport } from "../src/local/operations.ts";
import { callController } from "../src/local/remote.ts";
import { renderSvg, type Frame } from "./recording/svg.ts";

const MEMBER = "etcd-2";
const LOOK_EVERY_MS = 100;
const AT_MOST_MS = 600_000;
const SHOWN_STEPS = 8;
const READ_MS = 1500;

const root = fileURLToPath(new URL("..", import.meta.url));
const output = join(root, "docs/healing.svg");
const main = join(root, "src/cli/main.ts");
const dir = mkdtempSync(join(tmpdir(), "quorate-recording-"));

const controller = spawn(process.execPath, [main, "local", "up", "--dir", dir], {
  stdio: ["ignore", "ignore", "inherit"],
});
try {
  await until(({ converged }) => converged);
  const frames: Frame[] = [];
  const start = performance.now();
  const show = (lines: readonly string[]) =>
    frames.push({ atMs: Math.round(performance.now() - start), lines });
  const command = `$ quorate local wipe ${MEMBER}`;

  show(["$ watch quorate local status", "", ...screen(await look())]);
  await sleep(1500);
  const said = execFileSync(process.execPath, [main, "local", "wipe", MEMBER, "--dir", dir], {
    encoding: "utf8",
  });
  const wiped = performance.now();
  const above = (note: string) => [command, said.split("\n")[0] ?? "", note, ""];
  const since = () => `${((performance.now() - wiped) / 1000).toFixed(1)} s`;
  let changed = false;
  let shown = "";
  const healed = await until((report) => {
    const lines = screen(report);
    if (lines.join("\n") !== shown)
      show([...above(`# ${since()} after the data of ${MEMBER} was deleted`), ...lines]);
    shown = lines.join("\n");
    changed ||= !report.converged;
    return changed && report.converged && (report.cluster.status?.readyReplicas ?? 0) === 3;
  });
  const result = `# healed ${since()} after the data of ${MEMBER} was deleted`;
  show([...above(result), ...screen(healed)]);
  const title = "quorate local: a member that lost its data is replaced";
  writeFileSync(output, renderSvg(frames, { columns: 104, rows: 25, title, leastMs: READ_MS, restMs: 4000 }));
  process.stdout.write(`wrote docs/healing.svg: ${frames.length} frames, ${result}\n`);
} finally {
  execFileSync(process.execPath, [main, "local", "down", "--dir", dir], { stdio: "ignore" });
  controller.kill("SIGTERM");
  rmSync(dir, { recursive: true, force: true });
}

async function until(done: (report: LocalReport) => boolean): Promise<LocalReport> {
  const deadline = performance.now() + AT_MOST_MS;
  for (;;) {
    const report = await look().catch(() => undefined);
    if (report !== undefined && done(report)) return report;
    if (performance.now() > deadline)
      throw new Error(`the cluster in ${dir} did not get there in ${AT_MOST_MS} ms`);
    await sleep(LOOK_EVERY_MS);
  }
}

async function look(): Promise<LocalReport> {
  const { socket } = JSON.parse(readFileSync(layout(dir).lock, "utf8")) as { socket: string };
  return await callController(socket, "status", undefined, AbortSignal.timeout(5000));
}

/** What `quorate local status` prints. */
function screen(report: LocalReport): string[] {
  return renderReport(report, SHOWN_STEPS).trimEnd().split("\n");
}
