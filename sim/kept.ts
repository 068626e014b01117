/** Schedules in files: written when a run fails, played again by `--replay`, made smaller by `--shrink`. */
import { mkdir, readFile, writeFile } from "node:fs/promises";
import path from "node:path";
import { playRules } from "./guided/rules-run.ts";
import type { RulesSchedule } from "./guided/rules-schedule.ts";
import { play } from "./operator/random-run.ts";
import type { Schedule } from "./operator/schedule.ts";
import { shrunk, type KeptSchedule } from "./operator/shrink.ts";
import type { ProductRun } from "./product-run.ts";

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

export async function replay({ kind = "operator", schedule }: Kept): Promise<ProductRun> {
  return kind === "rules" ? playRules(schedule as RulesSchedule) : await play(schedule as Schedule);
}

/** The least of its events with which the same invariant breaks; undefined when none does. */
export async function shrinkKept(kept: Kept): Promise<Kept | undefined> {
  const { violation } = await replay(kept);
  if (!violation) return undefined;
  const schedule = await shrunk(kept.schedule as KeptSchedule["schedule"], async (smaller) => {
    const again = await replay({ ...kept, schedule: smaller });
    return again.violation?.invariant === violation.invariant;
  });
  return { ...kept, found: violation.message, schedule };
}
