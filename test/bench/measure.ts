/**
 * Medians of a few runs, each with a reference beside it from the same minute of the same machine: the ratio
 * says more than the figure, since machines and their load differ.
 */
import { appendFileSync } from "node:fs";
import os from "node:os";

export const RUNS = 5;

export interface Measure {
  readonly what: string;
  readonly unit: "ms" | "µs";
  /** The promise for an idle machine. */
  readonly goal: number;
  readonly run: () => Promise<number>;
  readonly reference: { readonly what: string; readonly run: () => Promise<number> };
}

/** Runs both in turn, so that a busy minute falls on both. */
export async function measure({ what, unit, goal, run, reference }: Measure): Promise<void> {
  const [own, other]: [number[], number[]] = [[], []];
  for (let i = 0; i < RUNS; i++) {
    own.push(await run());
    other.push(await reference.run());
  }
  const ratio = (median(own) / median(other)).toFixed(2);
  const verdict = median(own) <= goal ? "within" : "OVER";
  console.log(`  ${what}: ${show(own, unit)}; ${verdict} the goal of ${goal} ${unit}`);
  console.log(`    ${ratio} times the reference, ${reference.what}: ${show(other, unit)}`);
  record({ what, unit, own: median(own), reference: median(other) });
}

/** What `npm run bench -- --against` compares: one line of JSON in the file that QUORATE_BENCH_RECORD names. */
export interface Measured {
  readonly what: string;
  readonly unit: string;
  readonly own: number;
  readonly reference: number;
}

function record(measured: Measured): void {
  const file = process.env["QUORATE_BENCH_RECORD"];
  if (file !== undefined) appendFileSync(file, `${JSON.stringify(measured)}\n`);
}

/** Figures of a machine with other work are no figures: say so. */
export function tellLoad(runs = RUNS): void {
  const [minute = 0] = os.loadavg();
  console.log(
    `  ${os.availableParallelism()} processors, load ${minute.toFixed(1)}; medians of ${runs} runs`,
  );
}

export function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN;
}

export function show(values: readonly number[], unit: string): string {
  const digits = unit === "ms" ? 0 : 1;
  const text = (value: number) => value.toFixed(digits);
  return `${text(median(values))} ${unit} (${text(Math.min(...values))} to ${text(Math.max(...values))})`;
}

/** How long `work` takes, in milliseconds. */
export async function timed(work: () => Promise<unknown>): Promise<number> {
  const began = performance.now();
  await work();
  return performance.now() - began;
}
