/** One EtcdOperation with what was asked for and its steps. */
import type { OperationObject } from "../target/target.ts";
import { phasePaintOf, taskOf } from "./operations.ts";
import type { Style } from "./style.ts";

export function operationText({ metadata, spec, status }: OperationObject, style: Style): string {
  const { phase = "Pending", reason, message, steps = [], startedAt, completedAt } = status ?? {};
  const why = reason === undefined ? "" : ` (${reason})`;
  return [
    `${metadata?.name}: ${askedOf(spec)} of ${spec.cluster}`,
    `${phasePaintOf(phase, style)(phase)}${why}${message === undefined ? "" : `: ${message}`}`,
    ...(startedAt === undefined ? [] : [`Started ${startedAt}`]),
    ...(completedAt === undefined ? [] : [`Completed ${completedAt}`]),
    ...(steps.length === 0 ? [] : ["", "Steps:", ...steps.map((step) => `  ${step.at}  ${step.message}`)]),
  ].join("\n");
}

/** `restart demo-1, demo-2`, `compact retain 1000`. */
function askedOf(spec: OperationObject["spec"]): string {
  const task = taskOf(spec);
  const asked = Object.entries(spec[task] ?? {}).map(([key, value]) => {
    if (Array.isArray(value)) return value.join(", ");
    return key === "name" || key === "to" ? String(value) : `${key} ${String(value)}`;
  });
  return [task, ...asked].join(" ");
}
