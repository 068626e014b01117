/** Schedules in files: what a run that fails leaves behind. */
import { mkdir, readFile, writeFile } from "node:fs/promises";
import path from "node:path";

/** Which kind of runs a schedule is for; files from before there were two are of the operator's. */
type Kind = "rules" | "operator";

export interface Kept<S = unknown> {
  readonly kind?: Kind;
  /** What it found. */
  readonly found: string;
  readonly schedule: S;
}

export async function readKept(file: string): Promise<Kept> {
  return JSON.parse(await readFile(file, "utf8")) as Kept;
}

export async function writeKept(file: string, kept: Kept): Promise<void> {
  await mkdir(path.dirname(file), { recursive: true });
  await writeFile(file, `${JSON.stringify(kept, undefined, 2)}\n`);
}
