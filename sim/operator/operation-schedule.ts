/** EtcdOperations among the moves of a schedule: made by a person beside faults and edits, and some taken back. */
import { OPERATIONS } from "../../src/api/status-words.ts";
import type { SeededRandom } from "../engine/random.ts";
import type { Move, Operate, Schedule } from "./deeds.ts";

const WAITS = [20, 1_000, 10_000, 40_000] as const;

/** Three in ten schedules get some; the others stay what they are. */
export function operated(schedule: Schedule, random: SeededRandom): Schedule {
  if (!random.chance(0.3)) return schedule;
  const moves: Move[] = [...schedule.moves];
  for (let count = random.between(1, 3); count > 0; count--)
    moves.splice(random.between(0, moves.length), 0, { ...operate(random), waitMs: random.pick(WAITS) });
  return { ...schedule, moves };
}

function operate(random: SeededRandom): Operate {
  const pick = random.between(0, 999);
  if (random.chance(0.1)) return { do: "cancel", pick };
  const wrong = random.chance(0.1) ? random.pick(["member", "cluster"] as const) : undefined;
  return {
    do: "operate",
    task: random.pick(OPERATIONS),
    pick,
    all: random.chance(0.5),
    ...(wrong && { wrong }),
    ...(random.chance(0.3) && { ttlSeconds: random.pick([0, 5, 60]) }),
  };
}
