/**
 * Makes the schedule of a run that fails smaller: leaves out moves and faults, as long as the same invariant breaks
 * (delta debugging). What is left is written down, and a test replays it for ever.
 */
import { mkdir, writeFile } from "node:fs/promises";
import { play } from "./random-run.ts";
import type { Move, Schedule } from "./deeds.ts";

/** What a file in test/seeds holds. */
export interface KeptSchedule {
  /** What it found. */
  readonly found: string;
  readonly schedule: Schedule;
}

type Effect = Schedule["effects"][number];

export const SEEDS = new URL("../../test/seeds/", import.meta.url);

/** What is left out, one by one, of a schedule of any kind. */
interface Parts<Move, Effect> {
  readonly moves: readonly Move[];
  readonly effects: readonly Effect[];
}

/** The least list, by leaving out ever smaller parts, for which `fails` holds. */
export async function minimize<T>(
  items: readonly T[],
  fails: (items: readonly T[]) => Promise<boolean>,
): Promise<readonly T[]> {
  let left = items;
  let parts = 2;
  while (left.length > 0) {
    const size = Math.ceil(left.length / parts);
    let smaller: readonly T[] | undefined;
    for (let from = 0; from < left.length && smaller === undefined; from += size) {
      const without = [...left.slice(0, from), ...left.slice(from + size)];
      if (await fails(without)) smaller = without;
    }
    if (smaller !== undefined) {
      left = smaller;
      parts = Math.max(2, parts - 1);
    } else if (size === 1) return left;
    else parts = Math.min(left.length, parts * 2);
  }
  return left;
}

/** The least schedule, by leaving out moves and faults of effects, for which `fails` holds. */
export async function shrunk<Move, Effect, S extends Parts<Move, Effect>>(
  schedule: S,
  fails: (smaller: S) => Promise<boolean>,
): Promise<S> {
  const built = (items: readonly Item<Move, Effect>[]): S => ({
    ...schedule,
    moves: items.flatMap((item) => ("move" in item ? [item.move] : [])),
    effects: items.flatMap((item) => ("effect" in item ? [item.effect] : [])),
  });
  const items: Item<Move, Effect>[] = [
    ...schedule.effects.map((effect) => ({ effect })),
    ...schedule.moves.map((move) => ({ move })),
  ];
  return built(await minimize(items, (some) => fails(built(some))));
}

type Item<Move, Effect> = { readonly move: Move } | { readonly effect: Effect };

/** Shrinks a schedule that fails and keeps it; says where. */
export async function keepShrunk(schedule: Schedule, say: (line: string) => void): Promise<string> {
  const { seed } = schedule;
  const { violation } = await play(schedule);
  if (!violation) return `seed ${seed} does not fail`;
  const small = await shrunk<Move, Effect, Schedule>(schedule, async (smaller) => {
    const again = await play(smaller);
    return again.violation?.invariant === violation.invariant;
  });
  for (const one of [...small.effects, ...small.moves]) say(JSON.stringify(one));
  const kept: KeptSchedule = { found: violation.message, schedule: small };
  await mkdir(SEEDS, { recursive: true });
  const file = new URL(`operator-${seed}.json`, SEEDS);
  await writeFile(file, `${JSON.stringify(kept, undefined, 2)}\n`);
  return `kept as test/seeds/operator-${seed}.json`;
}
