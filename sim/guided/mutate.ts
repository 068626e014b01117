/**
 * A schedule made from one that reached something new: an event put in, left out, moved, doubled or at another time,
 * another fault of an effect, another order of what is at the same time, or the end of a second schedule.
 */
import type { SeededRandom } from "../engine/random.ts";

/** What the schedules of all kinds of runs have in common. */
export interface Mutable<Move, Fault> {
  readonly seed: number;
  readonly settled: boolean;
  readonly effects: readonly (readonly [number, Fault])[];
  readonly moves: readonly Move[];
}

/** How the parts of one kind of schedule are drawn. */
export interface Draws<Move, Fault> {
  readonly move: (random: SeededRandom) => Move;
  readonly effect: (random: SeededRandom) => readonly [number, Fault];
  /** The same event at another time, for another time, or at another place. */
  readonly retime: (move: Move, random: SeededRandom) => Move;
}

/** Longer ones cost more than they find. */
const MOST_MOVES = 10;
const MOST_EFFECTS = 8;

export function mutated<Move, Fault, S extends Mutable<Move, Fault>>(
  schedule: S,
  other: S,
  random: SeededRandom,
  draws: Draws<Move, Fault>,
): S {
  let next = schedule;
  for (let left = random.pick([1, 2, 4, 6]); left > 0; left--) next = once(next, other, random, draws);
  return next;
}

function once<Move, Fault, S extends Mutable<Move, Fault>>(
  schedule: S,
  other: S,
  random: SeededRandom,
  draws: Draws<Move, Fault>,
): S {
  const { moves, effects } = schedule;
  const at = random.between(0, Math.max(0, moves.length - 1));
  const to = random.between(0, moves.length);
  const one = moves[at];
  const withMoves = (some: readonly Move[]): S => ({ ...schedule, moves: some.slice(0, MOST_MOVES) });
  const insert = (place: number, ...some: readonly Move[]) =>
    withMoves([...moves.slice(0, place), ...some, ...moves.slice(place)]);
  const dice = random.fraction();
  if (one === undefined || dice < 0.3) return insert(to, draws.move(random));
  if (dice < 0.38) return withMoves(moves.toSpliced(at, 1));
  if (dice < 0.46) {
    const rest = moves.toSpliced(at, 1);
    return withMoves(rest.toSpliced(Math.min(to, rest.length), 0, one));
  }
  if (dice < 0.54) return insert(to, one);
  if (dice < 0.68) return withMoves(moves.with(at, draws.retime(one, random)));
  if (dice < 0.82) {
    const from = random.between(0, Math.max(0, other.moves.length - 1));
    return withMoves([...moves.slice(0, at + 1), ...other.moves.slice(from)]);
  }
  if (dice < 0.92) {
    const kept = effects.length >= MOST_EFFECTS || random.chance(0.3) ? effects.slice(1) : effects;
    return { ...schedule, effects: [...kept, draws.effect(random)].toSorted((a, b) => a[0] - b[0]) };
  }
  return dice < 0.96
    ? { ...schedule, seed: random.between(1, 2 ** 30) }
    : { ...schedule, settled: !schedule.settled };
}
