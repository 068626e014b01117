/**
 * Which processes a stage has, and in which order those of several stages begin: what takes longest first, so that
 * nothing long is left for the end, when nothing else runs beside it.
 */
import { matchesGlob } from "node:path";
import type { Stage } from "./table.ts";

export interface Planned {
  readonly files: readonly string[];
  /** Only one process at a time has it. */
  readonly needs?: string | undefined;
  /** In seconds, as far as it is known. */
  readonly length: number;
}

/** A file that is not said to be long takes a moment all the same. */
const MOMENT = 0.1;

export function processesOf(stage: Stage, files: readonly string[]): Planned[] {
  const sorted = files.toSorted((a, b) => lengthOf(stage, [b]) - lengthOf(stage, [a]));
  if (stage.processes === "together")
    return deal(stage, sorted).map((share) => ({ files: share, length: lengthOf(stage, share) }));
  return sorted.map((file) => ({
    files: [file],
    needs: stage.needs?.files.some((glob) => matchesGlob(file, glob)) ? stage.needs.what : undefined,
    length: lengthOf(stage, [file]),
  }));
}

/** Those that need the same follow each other: each counts for as long as all of them. */
export function longestFirst<T extends Planned>(planned: readonly T[]): T[] {
  const chains = new Map<string, number>();
  for (const { needs, length } of planned)
    if (needs !== undefined) chains.set(needs, (chains.get(needs) ?? 0) + length);
  const weight = ({ needs, length }: T) => chains.get(needs ?? "") ?? length;
  return planned.toSorted((a, b) => weight(b) - weight(a));
}

function lengthOf({ long = {} }: Stage, files: readonly string[]): number {
  return files.reduce((sum, file) => sum + (long[file] ?? MOMENT), 0);
}

/** Each file to the share that has least. */
function deal(stage: Stage, sorted: readonly string[]): string[][] {
  const shares = Array.from({ length: Math.min(stage.shares ?? 1, sorted.length) }, (): string[] => []);
  for (const file of sorted)
    shares.toSorted((a, b) => lengthOf(stage, a) - lengthOf(stage, b))[0]?.push(file);
  return shares;
}
