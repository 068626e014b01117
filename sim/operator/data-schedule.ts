/**
 * Snapshots, restores in place and recoveries among the moves of a schedule, each under faults of the store and of
 * operators that are killed meanwhile. Drawn where they are asked for (`--deny data`), by a share of the newer seeds and
 * by guided runs.
 */
import type { SeededRandom } from "../engine/random.ts";
import { snapshotFaults, fetchFaults, type DataDeed, type Deed, type Move, type Schedule } from "./deeds.ts";

const WAITS = [20, 500, 2_000, 10_000, 40_000] as const;
/** What the members hold is read and told, and a plan is approved. */
const PLAN_WAITS = [10_000, 40_000, 90_000, 400_000] as const;

/** One of them, for schedules that are made in another way. */
export function dataMove(random: SeededRandom): Move {
  return random.pick(group(random));
}

export function backed(schedule: Schedule, random: SeededRandom): Schedule {
  const moves: Move[] = [...schedule.moves];
  for (let count = random.between(1, 3); count > 0; count--)
    moves.splice(random.between(0, moves.length), 0, ...group(random));
  return { ...schedule, moves };
}

function group(random: SeededRandom): readonly Move[] {
  const wait = (deed: Deed, waits: readonly number[] = WAITS): Move => ({
    ...deed,
    waitMs: random.pick(waits),
  });
  const killed = () =>
    random.chance(0.4) ? [wait({ do: "operator", fault: "kill", pick: 0, forMs: 0 })] : [];
  return random.pick<() => readonly Move[]>([
    () => [wait(snapshot(random)), ...killed(), ...(random.chance(0.3) ? [wait(snapshot(random))] : [])],
    () => [
      wait(snapshot(random)),
      ...killed(),
      wait({ do: "drop-snapshot", pick: random.between(0, 999) }),
      ...killed(),
    ],
    () => [
      wait({ do: "restore", faults: some(random, fetchFaults) }, PLAN_WAITS),
      wait({ do: "approve" }),
      ...killed(),
    ],
    () => [
      wait({ do: "empty", who: "quorum", pick: random.between(0, 999) }, PLAN_WAITS),
      ...killed(),
      wait({ do: "approve" }, PLAN_WAITS),
      ...killed(),
      wait({ do: "approve" }),
    ],
  ])();
}

function snapshot(random: SeededRandom): DataDeed {
  return {
    do: "snapshot",
    faults: some(random, snapshotFaults),
    verify: random.chance(0.5),
    isDeleted: random.chance(0.5),
  };
}

/** What befalls the next processes, in order. */
function some<T>(random: SeededRandom, faults: readonly T[]): readonly T[] {
  return Array.from({ length: random.pick([0, 0, 1, 1, 2]) }, () => random.pick(faults));
}
