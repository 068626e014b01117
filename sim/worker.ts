/** Runs a range of seeds in a thread of its own and reports each result, without the trace. */
import { parentPort, workerData } from "node:worker_threads";
import { machineRun } from "./machine/random-run.ts";
import { randomRun } from "./random-run.ts";

export interface WorkerInput {
  readonly from: number;
  readonly to: number;
  /** Every n-th seed, so that threads share the long ones. */
  readonly every: number;
  /** The product itself on a modelled machine, not only its rules. */
  readonly machine: boolean;
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

const { from, to, every, machine } = workerData as WorkerInput;
for (let seed = from; seed <= to; seed += every) {
  const { steps, passes, events, acknowledged, crashes, end, violation } = machine
    ? await machineRun(seed)
    : randomRun(seed);
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
