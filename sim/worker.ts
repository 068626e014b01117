/** Runs a range of seeds in a thread of its own and reports each result, without the trace. */
import { parentPort, workerData } from "node:worker_threads";
import type { ProductRun } from "./driver/product-run.ts";

/** The rules alone, the product on a modelled machine, or the operator on a modelled Kubernetes. */
export type Simulated = "rules" | "machine" | "operator";

export interface WorkerInput {
  readonly from: number;
  readonly to: number;
  /** Every n-th seed, so that threads share the long ones. */
  readonly every: number;
  readonly what: Simulated;
  /** The first violation ends it. */
  readonly stop: boolean;
  /** Of the operator: what it is denied, by name; else what is enabled. */
  readonly denials?: readonly string[] | undefined;
}

/** Threads hand on texts, not classes. */
export interface WorkerReport extends Omit<ProductRun, "violation" | "trace"> {
  readonly violation: string | undefined;
}

/** Only what is run is loaded. */
const RUNS = {
  rules: async () => (await import("./rules/random-run.ts")).randomRun,
  machine: async () => (await import("./machine/random-run.ts")).machineRun,
  operator: async () => (await import("./operator/random-run.ts")).operatorRun,
} as const;

const { from, to, every, what, stop, denials } = workerData as WorkerInput;
const run = await RUNS[what]();
for (let seed = from; seed <= to; seed += every) {
  const report = await reportOf(seed);
  parentPort?.postMessage(report);
  if (stop && report.violation !== undefined) break;
}

/** A run that throws is a find like any other, and the seeds after it are run all the same. */
async function reportOf(seed: number): Promise<WorkerReport> {
  try {
    const { violation, trace: _, ...rest } = await run(seed, denials);
    return { ...rest, violation: violation?.message };
  } catch (error) {
    const violation = `threw ${error instanceof Error ? (error.stack ?? error.message) : String(error)}`;
    return { seed, steps: 0, passes: 0, events: 0, acknowledged: 0, crashes: 0, end: "", violation };
  }
}
