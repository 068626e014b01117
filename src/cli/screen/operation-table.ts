/** Operations: one line each, or one with its steps. */
import { OPERATIONS } from "../../api/status-words.ts";
import { ageOf } from "../duration.ts";
import type { OperationObject } from "../target/target.ts";
import type { Paint, Style } from "./style.ts";
import { tableLines } from "./table.ts";

export function operationLines(
  operations: readonly OperationObject[],
  { now, width }: { readonly now: number; readonly width: number },
  style: Style,
): string[] {
  const columns = [
    { title: "NAME" },
    { title: "CLUSTER" },
    { title: "TASK" },
    { title: "PHASE" },
    { title: "AGE", align: "right" as const },
    { title: "MESSAGE", shrinks: true },
  ];
  const rows = operations.map((operation) => {
    const { metadata, spec, status } = operation;
    const created = Date.parse(metadata?.creationTimestamp ?? "");
    return [
      metadata?.name ?? "",
      spec.cluster,
      taskOf(operation),
      { text: status?.phase ?? "Pending", paint: paintOf(status?.phase, style) },
      Number.isNaN(created) ? "-" : ageOf(now - created),
      status?.message ?? "",
    ];
  });
  return tableLines(columns, rows, width);
}

export function operationText(operation: OperationObject, style: Style): string {
  const { metadata, spec, status } = operation;
  const { phase = "Pending", reason, message, steps = [], startedAt, completedAt } = status ?? {};
  const paint = paintOf(phase, style);
  const why = reason === undefined ? "" : ` (${reason})`;
  return [
    `${metadata?.name}: ${taskOf(operation)} of ${spec.cluster}`,
    `${paint(phase)}${why}${message === undefined ? "" : `: ${message}`}`,
    ...(startedAt === undefined ? [] : [`Started ${startedAt}`]),
    ...(completedAt === undefined ? [] : [`Completed ${completedAt}`]),
    ...(steps.length === 0
      ? []
      : ["", "Steps:", ...steps.map(({ at, message: text }) => `  ${at}  ${text}`)]),
  ].join("\n");
}

/** `restart demo-1, demo-2`, with what was asked for. */
function taskOf({ spec }: OperationObject): string {
  const task = OPERATIONS.find((name) => spec[name] !== undefined);
  if (task === undefined) return "unknown";
  const asked = spec[task] as Readonly<Record<string, unknown>>;
  const words = Object.entries(asked).map(([key, value]) =>
    Array.isArray(value)
      ? value.join(", ")
      : key === "name" || key === "to"
        ? String(value)
        : `${key} ${String(value)}`,
  );
  return [task, ...words].join(" ");
}

function paintOf(phase: string | undefined, style: Style): Paint {
  if (phase === "Succeeded") return style.good;
  return phase === "Failed" || phase === "Rejected" ? style.bad : style.doubtful;
}
