/** Explores the fields that it is given, one at a time, in a thread of its own. */
import { parentPort } from "node:worker_threads";
import { Explorer, type ExploreOptions, type FieldReport } from "./explore.ts";
import { fieldsOf } from "./fields.ts";

export interface Task extends ExploreOptions {
  /** Which of the fields. */
  readonly index: number;
}

export type Answer = { readonly index: number } & (
  | { readonly report: FieldReport }
  /** It could not even be tried. */
  | { readonly error: string }
);

const fields = fieldsOf();

parentPort?.on("message", (task: Task) => {
  void explore(task).then((answer) => parentPort?.postMessage(answer));
});

async function explore({ index, ...options }: Task): Promise<Answer> {
  const field = fields[index];
  try {
    if (!field) throw new RangeError(`there is no field ${index}`);
    return { index, report: await new Explorer(field).explore(options) };
  } catch (error) {
    return { index, error: error instanceof Error ? error.message : String(error) };
  }
}
