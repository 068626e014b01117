/** What one call costs that only computes. */
import { measure } from "../measure.ts";

const CALLS = 20_000;

export interface Computing<T> {
  readonly what: string;
  /** In microseconds, for an idle machine. */
  readonly goal: number;
  /** One after the other: a compiler that saw one alone would make less of it than in the operator. */
  readonly inputs: readonly [T, ...T[]];
  readonly run: (input: T) => unknown;
  readonly calls?: number;
}

/** Beside turning the same inputs into text, which says how fast this machine is at the moment. */
export async function measureCalls<T>({
  what,
  goal,
  inputs,
  run,
  calls = CALLS,
}: Computing<T>): Promise<void> {
  const [first] = inputs;
  const perCall = (work: (input: T) => unknown): Promise<number> => {
    const began = performance.now();
    for (let i = 0; i < calls; i++) work(inputs[i % inputs.length] ?? first);
    return Promise.resolve(((performance.now() - began) / calls) * 1000);
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
