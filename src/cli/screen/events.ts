/** Events as a table, oldest first. */
import { ageOf } from "../duration.ts";
import type { ClusterEvent } from "../target/target.ts";
import type { Style } from "./style.ts";
import { tableLines } from "./table.ts";

export function eventLines(
  events: readonly ClusterEvent[],
  { now, width }: { readonly now: number; readonly width: number },
  style: Style,
): string[] {
  const columns = [
    { title: "AGE", align: "right" as const },
    { title: "TYPE" },
    { title: "REASON" },
    { title: "OBJECT" },
    { title: "MESSAGE", shrinks: true },
  ];
  const rows = events.map(({ at, type, reason, object, message, count }) => [
    ageOf(now - at),
    { text: type, ...(type === "Warning" && { paint: style.bad }) },
    reason,
    object,
    count > 1 ? `${message} (${count} times)` : message,
  ]);
  return tableLines(columns, rows, width);
}
