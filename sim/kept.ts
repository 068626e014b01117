/** Schedules that were kept, played again by `--replay` and made smaller by `--shrink`. */
import { playRules } from "./guided/rules-run.ts";
import type { RulesSchedule } from "./guided/rules-schedule.ts";
import type { Kept } from "./kept-file.ts";
import { play } from "./operator/random-run.ts";
import type { Schedule } from "./operator/deeds.ts";
import { shrunk, type KeptSchedule } from "./operator/shrink.ts";
import type { ProductRun } from "./driver/product-run.ts";

export async function replay({ kind = "operator", schedule }: Kept): Promise<ProductRun> {
  return await (kind === "rules" ? playRules(schedule as RulesSchedule) : play(schedule as Schedule));
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
