/** EtcdOperations among the moves of a schedule: made by a person beside faults and edits, and some taken back. */
import { OPERATIONS, type OperationName } from "../../src/api/status-words.ts";
import type { SeededRandom } from "../engine/random.ts";
import type { Move, Schedule } from "./schedule.ts";

export type Operate =
  | {
      readonly do: "operate";
      readonly task: OperationName;
      /** The member that it names; with `all`, none where it need not. */
      readonly pick: number;
      readonly all: boolean;
      /** Names a member, or a cluster, that does not exist. */
      readonly wrong?: "member" | "cluster";
      readonly ttlSeconds?: number;
    }
  /** Deleted, in whatever phase it is. */
  | { readonly do: "cancel"; readonly pick: number };

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
