/**
 * Which tool caught each planted fault in the last run that was asked to keep it: the next run asks that tool first, so
 * that it need not wait for all the quicker ones that see nothing. A fault that it no longer catches goes to all others.
 */
import { readFileSync } from "node:fs";
import { writeFile } from "node:fs/promises";

const FILE = new URL("caught-by.json", import.meta.url);

/** The name of the tool, by the name of the fault. */
export type CaughtBy = Readonly<Record<string, string>>;

export function readCaughtBy(): CaughtBy {
  return JSON.parse(readFileSync(FILE, "utf8")) as CaughtBy;
}

/** Adds what a run found; `names` are of the faults that still exist. */
export async function keepCaughtBy(found: CaughtBy, names: readonly string[]): Promise<void> {
  const known = { ...readCaughtBy(), ...found };
  const kept = names.filter((name) => known[name] !== undefined).toSorted();
  const text = JSON.stringify(Object.fromEntries(kept.map((name) => [name, known[name]])), undefined, 2);
  await writeFile(FILE, `${text}\n`);
}
