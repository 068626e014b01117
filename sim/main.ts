/**
 * `npm run sim -- --seeds N [--from N]` random runs; `--seed N --trace` one of them, told in full;
 * `--enumerate [--every N]` each effect of each scenario with a crash or a lost answer. With `--machine` the
 * product itself runs on a modelled machine, with `--operator` the operator on a modelled Kubernetes, instead of the
 * rules alone; `--guided` makes schedules from those that reached something new, `--replay file` plays one again, and
 * `--shrink` makes one that fails smaller. `--stop` ends at the first violation, `--scenario text` and (of the operator)
 * `--fault text` take only some plans, `--deny name,name` (of the operator) only some of what it is denied (see
 * denial-schedule.ts), also what is not drawn otherwise, `--threads N` fewer threads. Same seed (and threads), same bytes on stdout but for
 * the times.
 */
import { availableParallelism, tmpdir } from "node:os";
import path from "node:path";
import process from "node:process";
import { parseArgs } from "node:util";
import { Worker } from "node:worker_threads";
import { guided } from "./guided/many.ts";
import { Progress } from "./engine/progress.ts";
import type { Simulated, WorkerInput, WorkerReport } from "./worker.ts";

const say = (line: string) => void process.stdout.write(`${line}\n`);

const { values } = parseArgs({
  options: {
    seeds: { type: "string" },
    from: { type: "string", default: "1" },
    seed: { type: "string" },
    trace: { type: "boolean", default: false },
    enumerate: { type: "boolean", default: false },
    machine: { type: "boolean", default: false },
    operator: { type: "boolean", default: false },
    shrink: { type: "boolean", default: false },
    guided: { type: "boolean", default: false },
    replay: { type: "string" },
    keep: { type: "string" },
    threads: { type: "string" },
    every: { type: "string", default: "1" },
    scenario: { type: "string", default: "" },
    fault: { type: "string", default: "" },
    stop: { type: "boolean", default: false },
    deny: { type: "string" },
  },
});

/** More than two take memory from each other. */
const threads = number("threads", values.threads ?? String(Math.min(2, availableParallelism())));
const what: Simulated = values.operator ? "operator" : values.machine ? "machine" : "rules";

const denials = values.deny?.split(",");

process.exitCode = await main();

async function main(): Promise<number> {
  if (values.guided) return await guide(number("seed", values.seed ?? "1"));
  if (values.replay !== undefined || values.seed !== undefined || values.enumerate) return await here();
  const from = number("from", values.from);
  return await many(from, from + number("seeds", values.seeds ?? "100") - 1);
}

/** What runs need not load for this. */
async function here(): Promise<number> {
  const { again, all, one } = await import("./single.ts");
  const { trace, shrink, scenario, fault, stop } = values;
  const how = { what, say, trace, shrink, scenario, fault, stop, denials };
  if (values.replay !== undefined) return await again(values.replay, how);
  if (values.seed !== undefined) return await one(number("seed", values.seed), how);
  return await all(number("every", values.every), threads, how);
}

function number(name: string, text: string): number {
  const value = Number(text);
  if (!Number.isSafeInteger(value) || value < 1) {
    throw new RangeError(`--${name} must be a whole number from 1 on, not ${text}`);
  }
  return value;
}

async function guide(seed: number): Promise<number> {
  if (what === "machine") throw new RangeError("--guided is for the rules and for --operator");
  const runs = number("seeds", values.seeds ?? "100");
  const progress = new Progress(`of ${2 * runs} runs`);
  const code = await guided({ what, seed, runs, threads, keep: values.keep }, progress, say);
  say(progress.total(threads));
  return code;
}

async function many(from: number, to: number): Promise<number> {
  const progress = new Progress(`of ${to - from + 1} seeds`);
  const every = threads;
  const reports: WorkerReport[] = [];
  await Promise.all(
    Array.from({ length: every }, (_, i) =>
      run({ from: from + i, to, every, what, stop: values.stop, denials }, (report) => {
        reports.push(report);
        progress.add(report);
        if (report.violation !== undefined) progress.tell(`seed ${report.seed}: ${report.violation}`);
      }),
    ),
  );
  const ends = new Map<string, number>();
  const bad = reports.filter((report) => report.violation !== undefined).toSorted((a, b) => a.seed - b.seed);
  for (const { end, violation } of reports) {
    if (violation === undefined) ends.set(end, (ends.get(end) ?? 0) + 1);
  }
  for (const { seed, violation } of bad) say(`seed ${seed}: ${violation}`);
  if (what === "operator") await keep(bad);
  for (const [end, count] of [...ends].toSorted((a, b) => b[1] - a[1]))
    say(`${String(count).padStart(6)}  ${end}`);
  const sum = (pick: (report: WorkerReport) => number) =>
    reports.reduce((total, report) => total + pick(report), 0);
  say(
    `${reports.length} seeds, ${bad.length} violations, ${sum((report) => report.steps)} steps, ${sum((report) => report.crashes)} crashes, ${sum((report) => report.acknowledged)} acknowledged writes`,
  );
  say(progress.total(threads));
  return bad.length === 0 ? 0 : 1;
}

/** Schedules that failed stay playable when what seeds draw has changed. */
async function keep(bad: readonly WorkerReport[]): Promise<void> {
  if (bad.length === 0) return;
  const [{ scheduleOf }, { writeKept }] = await Promise.all([
    import("./operator/schedule.ts"),
    import("./kept-file.ts"),
  ]);
  const dir = values.keep ?? path.join(tmpdir(), "quorate-sim");
  for (const { seed, violation = "" } of bad) {
    const file = path.join(dir, `operator-${seed}.json`);
    await writeKept(file, { kind: "operator", found: violation, schedule: scheduleOf(seed, denials) });
  }
  say(`kept in ${dir}: npm run sim -- --replay ${dir}/operator-${bad[0]?.seed}.json --trace   (or --shrink)`);
}

function run(workerData: WorkerInput, onReport: (report: WorkerReport) => void): Promise<void> {
  return new Promise((resolve, reject) => {
    const worker = new Worker(new URL("./worker.ts", import.meta.url), { workerData });
    worker.on("message", onReport);
    worker.once("error", reject);
    worker.once("exit", (code) =>
      code === 0 ? resolve() : reject(new Error(`a thread ended with code ${code}`)),
    );
  });
}
