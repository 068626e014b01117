/**
 * `npm run sim -- --seeds N [--from N]` random runs; `--seed N --trace` one of them, told in full;
 * `--enumerate [--every N]` each effect of each scenario with a crash or a lost answer. With `--machine` the
 * product itself runs on a modelled machine, with `--operator` the operator on a modelled Kubernetes, instead of the
 * rules alone; `--shrink` makes the schedule of a seed of the operator that fails smaller. `--stop` ends at the first
 * violation, `--scenario text` and (of the operator) `--fault text` take only some, `--threads N` fewer threads. Same
 * seed, same bytes.
 */
import { availableParallelism } from "node:os";
import process from "node:process";
import { parseArgs } from "node:util";
import { Worker } from "node:worker_threads";
import { systemClock } from "../src/seams/clock.ts";
import { enumerate, scenarios, type Enumerated } from "./enumerate.ts";
import { enumerateOnMachine } from "./machine/enumerate.ts";
import { machineRun } from "./machine/random-run.ts";
import { enumerateOperator, operatorScenarios } from "./operator/enumerate.ts";
import { operatorRun } from "./operator/random-run.ts";
import { keepShrunk } from "./operator/shrink.ts";
import { randomRun } from "./random-run.ts";
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
    every: { type: "string", default: "1" },
    scenario: { type: "string", default: "" },
    fault: { type: "string", default: "" },
    stop: { type: "boolean", default: false },
    threads: { type: "string" },
  },
});

const what: Simulated = values.operator ? "operator" : values.machine ? "machine" : "rules";

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
  const result = await { rules: randomRun, machine: machineRun, operator: operatorRun }[what](seed);
  if (values.trace) for (const line of result.trace) say(line);
  say(
    `seed ${seed}: ${result.violation?.message ?? result.end} (${result.steps} steps, ${result.passes} passes)`,
  );
  if (result.violation && values.shrink && what === "operator") say(await keepShrunk(seed, say));
  return result.violation ? 1 : 0;
}

async function many(from: number, to: number): Promise<number> {
  const began = systemClock.monotonic();
  const every = number("threads", values.threads ?? String(Math.min(2, availableParallelism())));
  const reports: WorkerReport[] = [];
  await Promise.all(
    Array.from({ length: every }, (_, i) =>
      run({ from: from + i, to, every, what, stop: values.stop }, (report) => reports.push(report)),
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
  const began = systemClock.monotonic();
  const sums = { plans: 0, failed: 0, events: 0, passes: 0 };
  const names = (what === "operator" ? operatorScenarios : scenarios).map(({ name }) => name);
  for (const name of names.filter((one) => one.includes(values.scenario))) {
    if (values.stop && sums.failed > 0) break;
    const found = await enumerated(name, every);
    say(`${name}: ${found.effects} effects, ${found.plans} plans, ${found.failures.length} failures`);
    for (const { plan, message } of found.failures) say(`    ${plan}: ${message}`);
    sums.failed += found.failures.length;
    sums.plans += found.plans;
    sums.events += found.events ?? 0;
    sums.passes += found.passes ?? 0;
  }
  const { plans, failed, events, passes } = sums;
  say(`${plans} plans, ${failed === 0 ? "all end as the run without a fault" : `${failed} fail`}`);
  const seconds = (systemClock.monotonic() - began) / 1000;
  if (events > 0)
    say(
      `${passes} passes (${Math.round(passes / seconds)}/s), ${events} events (${Math.round(events / seconds)}/s), ${seconds.toFixed(1)} s`,
    );
  return failed === 0 ? 0 : 1;
}

interface Found extends Enumerated {
  readonly events?: number;
  readonly passes?: number;
}

async function enumerated(name: string, every: number): Promise<Found> {
  if (what === "operator") {
    const scenario = operatorScenarios.find((one) => one.name === name);
    const { stop, fault } = values;
    if (scenario) return await enumerateOperator(scenario, 1, every, { stop, fault });
  }
  const scenario = scenarios.find((one) => one.name === name);
  if (!scenario) throw new RangeError(`there is no scenario ${name}`);
  return what === "machine" ? await enumerateOnMachine(scenario, 1, every) : enumerate(scenario, 1, every);
}
