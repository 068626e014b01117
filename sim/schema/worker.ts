/** Explores the fields that it is given, one at a time, in a thread of its own. */
import { parentPort } from "node:worker_threads";
import { BASES } from "./bases.ts";
import { Explorer, type ExploreOptions, type FieldReport } from "./explore.ts";
import { fieldsOf } from "./fields.ts";

export interface Task extends ExploreOptions {
  /** Which of the fields. */
  readonly index: number;
  /** Which of the bases. */
  readonly base: number;
}

export type Answer = { readonly index: number; readonly base: number } & (
  | { readonly report: FieldReport }
  /** It could not even be tried. */
  | { readonly error: string }
);

const fields = fieldsOf();

parentPort?.on("message", (task: Task) => {
  void explore(task).then((answer) => parentPort?.postMessage(answer));
});

async function explore({ index, base, ...options }: Task): Promise<Answer> {
  const field = fields[index];
  const on = BASES[base];
  try {
    if (!field || !on) throw new RangeError(`there is no field ${index} or no base ${base}`);
    return { index, base, report: await new Explorer(field, on).explore(options) };
  } catch (error) {
    return { index, base, error: error instanceof Error ? error.message : String(error) };
  }
}
