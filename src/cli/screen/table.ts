/**
 * Rows as aligned columns that fit a width: cells are padded before they are painted, and one column, the last
 * unless named, gives way when the line is too long.
 */
import type { Paint } from "./style.ts";
import { printable } from "./words.ts";

export interface Cell {
  readonly text: string;
  readonly paint?: Paint | undefined;
}

export interface Column {
  readonly title: string;
  readonly align?: "right";
  /** This one is cut when the line is too long. */
  readonly shrinks?: boolean;
}

const GAP = "  ";
const SHORTEST = 8;

export function tableLines(
  columns: readonly Column[],
  rows: readonly (readonly (Cell | string)[])[],
  width = Infinity,
): string[] {
  const cells = [columns.map(({ title }): Cell => ({ text: title })), ...rows.map((row) => row.map(asCell))];
  const widths = columns.map((_, column) => Math.max(...cells.map((row) => row[column]?.text.length ?? 0)));
  const over = widths.reduce((sum, one) => sum + one + GAP.length, -GAP.length) - width;
  const shrinking = columns.findLastIndex(({ shrinks }) => shrinks);
  if (over > 0 && shrinking >= 0) widths[shrinking] = Math.max(SHORTEST, (widths[shrinking] ?? 0) - over);
  return cells.map((row) => lineOf(row, columns, widths));
}

function lineOf(row: readonly Cell[], columns: readonly Column[], widths: readonly number[]): string {
  const last = row.findLastIndex(({ text }) => text !== "");
  return row
    .slice(0, last + 1)
    .map(({ text, paint }, column) => {
      const width = widths[column] ?? 0;
      const cut = columns[column]?.shrinks ? clipped(text, width) : text;
      const painted = paint ? paint(cut) : cut;
      const blank = " ".repeat(Math.max(0, width - cut.length));
      if (columns[column]?.align === "right") return `${blank}${painted}`;
      return column === last ? painted : `${painted}${blank}`;
    })
    .join(GAP);
}

export function clipped(text: string, width: number): string {
  return text.length <= width ? text : `${text.slice(0, Math.max(0, width - 1))}…`;
}

function asCell(cell: Cell | string): Cell {
  const { text, paint }: Cell = typeof cell === "string" ? { text: cell } : cell;
  return { text: printable(text), paint };
}
