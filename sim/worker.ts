/** Runs a range of seeds in a thread of its own and reports each result, without the trace. */
import { parentPort, workerData } from "node:worker_threads";
import type { ProductRun } from "./product-run.ts";

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
  rules: async () => (await import("./random-run.ts")).randomRun,
  machine: async () => (await import("./machine/random-run.ts")).machineRun,
  operator: async () => (await import("./operator/random-run.ts")).operatorRun,
} as const;

const { from, to, every, what, stop, denials } = workerData as WorkerInput;
const run = await RUNS[what]();
for (let seed = from; seed <= to; seed += every) {
  const { steps, passes, events, acknowledged, crashes, end, violation } = await run(seed, denials);
  const report: WorkerReport = {
    seed,
    steps,
    passes,
    events,
    acknowledged,
    crashes,
    end,
    violation: violation?.message,
  };
  parentPort?.postMessage(report);
  if (stop && violation) break;
}
