/** Runs a range of seeds in a thread of its own and reports each result, without the trace. */
import { parentPort, workerData } from "node:worker_threads";
import { randomRun } from "./random-run.ts";

export interface WorkerInput {
  readonly from: number;
  readonly to: number;
  /** Every n-th seed, so that threads share the long ones. */
  readonly every: number;
}

export interface WorkerReport {
  readonly seed: number;
  readonly steps: number;
  readonly passes: number;
  readonly events: number;
  readonly acknowledged: number;
  readonly crashes: number;
  readonly end: string;
  readonly violation: string | undefined;
}

const { from, to, every } = workerData as WorkerInput;
for (let seed = from; seed <= to; seed += every) {
  const { steps, passes, events, acknowledged, crashes, end, violation } = randomRun(seed);
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
}
