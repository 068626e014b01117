/**
 * `npm run sim -- --seeds N [--from N]` random runs; `--seed N --trace` one of them, told in full;
 * `--enumerate [--every N]` each effect of each scenario with a crash or a lost answer. With `--machine` the
 * product itself runs on a modelled machine, instead of its rules alone. Same seed, same bytes.
 */
import { availableParallelism } from "node:os";
import process from "node:process";
import { parseArgs } from "node:util";
import { Worker } from "node:worker_threads";
import { systemClock } from "../src/seams/clock.ts";
import { enumerate, scenarios } from "./enumerate.ts";
import { enumerateOnMachine } from "./machine/enumerate.ts";
import { machineRun } from "./machine/random-run.ts";
import { randomRun } from "./random-run.ts";
import type { WorkerInput, WorkerReport } from "./worker.ts";

const say = (line: string) => void process.stdout.write(`${line}\n`);

const { values } = parseArgs({
  options: {
    seeds: { type: "string" },
    from: { type: "string", default: "1" },
    seed: { type: "string" },
    trace: { type: "boolean", default: false },
    enumerate: { type: "boolean", default: false },
    machine: { type: "boolean", default: false },
    every: { type: "string", default: "1" },
  },
});

process.exitCode = await main();

async function main(): Promise<number> {
  if (values.seed !== undefined) return await one(number("seed", values.seed));
  if (values.enumerate) return await all(number("every", values.every));
  const from = number("from", values.from);
  return await many(from, from + number("seeds", values.seeds ?? "100") - 1);
}

function number(name: string, text: string): number {
  const value = Number(text);
  if (!Number.isSafeInteger(value) || value < 1) {
    throw new RangeError(`--${name} must be a whole number from 1 on, not ${text}`);
  }
  return value;
}

async function one(seed: number): Promise<number> {
  const result = values.machine ? await machineRun(seed) : randomRun(seed);
  if (values.trace) for (const line of result.trace) say(line);
  say(
    `seed ${seed}: ${result.violation?.message ?? result.end} (${result.steps} steps, ${result.passes} passes)`,
  );
  return result.violation ? 1 : 0;
}

async function many(from: number, to: number): Promise<number> {
  const began = systemClock.monotonic();
  const every = Math.max(1, Math.min(2, availableParallelism()));
  const reports: WorkerReport[] = [];
  await Promise.all(
    Array.from({ length: every }, (_, i) =>
      run({ from: from + i, to, every, machine: values.machine }, (report) => reports.push(report)),
    ),
  );
  const seconds = (systemClock.monotonic() - began) / 1000;
  const ends = new Map<string, number>();
  const bad = reports.filter((report) => report.violation !== undefined).toSorted((a, b) => a.seed - b.seed);
  for (const { end, violation } of reports) {
    if (violation === undefined) ends.set(end, (ends.get(end) ?? 0) + 1);
  }
  for (const { seed, violation } of bad) say(`seed ${seed}: ${violation}`);
  for (const [end, count] of [...ends].toSorted((a, b) => b[1] - a[1]))
    say(`${String(count).padStart(6)}  ${end}`);
  const sum = (pick: (report: WorkerReport) => number) =>
    reports.reduce((total, report) => total + pick(report), 0);
  const passes = sum((report) => report.passes);
  const events = sum((report) => report.events);
  say(
    `${reports.length} seeds, ${bad.length} violations, ${sum((report) => report.steps)} steps, ${sum((report) => report.crashes)} crashes, ${sum((report) => report.acknowledged)} acknowledged writes`,
  );
  say(
    `${passes} passes (${Math.round(passes / seconds)}/s), ${events} events (${Math.round(events / seconds)}/s), ${seconds.toFixed(1)} s on ${every} threads`,
  );
  return bad.length === 0 ? 0 : 1;
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

async function all(every: number): Promise<number> {
  let failed = 0;
  let total = 0;
  for (const scenario of scenarios) {
    const { effects, plans, failures } = values.machine
      ? await enumerateOnMachine(scenario, 1, every)
      : enumerate(scenario, 1, every);
    say(`${scenario.name}: ${effects} effects, ${plans} plans, ${failures.length} failures`);
    for (const { plan, message } of failures) say(`    ${plan}: ${message}`);
    failed += failures.length;
    total += plans;
  }
  say(`${total} plans, ${failed === 0 ? "all end as the run without a fault" : `${failed} fail`}`);
  return failed === 0 ? 0 : 1;
}
