/** The table of fields at the end: what was tried on each, and what came of it. */
import type { Counts, FieldReport } from "./explore.ts";

const COLUMNS: readonly (keyof Counts)[] = [
  "valid",
  "boundary",
  "hostile",
  "applied",
  "refused",
  "reported",
  "reverted",
];

export function table(reports: readonly FieldReport[]): string[] {
  const width = Math.max(5, ...reports.map(({ path }) => shortened(path).length));
  const row = (name: string, cells: readonly (string | number)[]) =>
    [name.padEnd(width), ...cells.map((cell, i) => String(cell).padStart(COLUMNS[i]?.length ?? 0))].join(
      "  ",
    );
  return [
    row("field", COLUMNS),
    ...reports.map(({ path, counts }) =>
      row(
        shortened(path),
        COLUMNS.map((column) => counts[column]),
      ),
    ),
  ];
}

/** The long names of Kubernetes say little in a table. */
function shortened(path: string): string {
  return path.replace(/(required|preferred)DuringSchedulingIgnoredDuringExecution/g, "$1…");
}
