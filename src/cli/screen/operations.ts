/** EtcdOperations as a table: what is asked for, how far it is. */
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
    { title: "OPERATION" },
    { title: "TASK" },
    { title: "PHASE" },
    { title: "AGE", align: "right" as const },
    { title: "MESSAGE", shrinks: true },
  ];
  const rows = operations.map(({ metadata, spec, status }) => [
    metadata?.name ?? "",
    taskOf(spec),
    { text: status?.phase ?? "Pending", paint: phasePaintOf(status?.phase, style) },
    ageOf(now - Date.parse(metadata?.creationTimestamp ?? "") || 0),
    status?.message ?? status?.steps?.at(-1)?.message ?? "",
  ]);
  return tableLines(columns, rows, width);
}

/** `defragment`, `moveLeader`: the field of the spec that says what to do. */
export function taskOf(spec: OperationObject["spec"]): string {
  return Object.keys(spec).find((key) => key !== "cluster" && key !== "ttlSecondsAfterFinished") ?? "-";
}

export function phasePaintOf(phase: string | undefined, style: Style): Paint {
  if (phase === "Succeeded") return style.good;
  return phase === "Failed" || phase === "Rejected" ? style.bad : style.doubtful;
}
