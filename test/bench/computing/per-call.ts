/** What one call costs that only computes, in time of the processor. */
import process from "node:process";
import { measure } from "../measure.ts";

const CALLS = 4_000;

export interface Computing<T> {
  readonly what: string;
  /** In microseconds, for an idle machine. */
  readonly goal: number;
  /** One after the other: a compiler that saw one alone would make less of it than in the operator. */
  readonly inputs: readonly [T, ...T[]];
  readonly run: (input: T) => unknown;
}

/** Beside turning the same inputs into text, which says how fast this machine is at the moment. */
export async function measureCalls<T>({ what, goal, inputs, run }: Computing<T>): Promise<void> {
  const [first] = inputs;
  const perCall = (work: (input: T) => unknown): Promise<number> => {
    // Of this thread: what else the machine does is not counted.
    const began = process.threadCpuUsage();
    for (let i = 0; i < CALLS; i++) work(inputs[i % inputs.length] ?? first);
    const { user, system } = process.threadCpuUsage(began);
    return Promise.resolve((user + system) / CALLS);
  };
  await measure({
    what,
    unit: "µs",
    goal,
    run: () => perCall(run),
    reference: {
      what: "JSON.stringify of the same input",
      run: () => perCall((input) => JSON.stringify(input)),
    },
  });
}
