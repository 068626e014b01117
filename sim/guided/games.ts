/** The kinds of runs that can be guided: of the rules alone, and of the operator on a modelled Kubernetes. */
import { dataMove } from "../operator/data-schedule.ts";
import { rareMemberFaults, type Move, type Schedule } from "../operator/deeds.ts";
import { anyDenialMoves, anySurroundings } from "../operator/denial-schedule.ts";
import { play } from "../operator/random-run.ts";
import { effectOf, LASTING, moveOf, scheduleOf, WAITS } from "../operator/schedule.ts";
import type { EffectFault } from "../operator/effects.ts";
import type { ProductRun } from "../driver/product-run.ts";
import type { SeededRandom } from "../engine/random.ts";
import { causeOf, Features } from "./features.ts";
import { mutated, type Draws } from "./mutate.ts";
import { mutatedRules, rulesScheduleOf, type RulesSchedule } from "./rules-schedule.ts";
import { playRules } from "./rules-run.ts";
import type { Game } from "./search.ts";

export const rulesGame: Game<RulesSchedule> = {
  draw: rulesScheduleOf,
  mutate: mutatedRules,
  causes: ({ moves }) => moves.map(causeOf),
  play: (schedule) => noted(schedule, playRules),
};

const draws: Draws<Move, EffectFault> = {
  move: (random) => {
    const [denial] = random.chance(0.15) ? anyDenialMoves(random) : [];
    if (denial) return denial;
    if (random.chance(0.06)) return dataMove(random);
    if (!random.chance(0.04)) return moveOf(random);
    const pick = random.between(0, 999);
    return { do: "member", fault: random.pick(rareMemberFaults), pick, waitMs: random.pick(WAITS) };
  },
  effect: effectOf,
  retime: (move, random) => ({
    ...move,
    waitMs: random.pick(WAITS),
    ...("forMs" in move && { forMs: random.pick(LASTING) }),
    ...("pick" in move && { pick: random.between(0, 999) }),
  }),
};

export const operatorGame: Game<Schedule> = {
  draw: scheduleOf,
  mutate: (schedule, other, random: SeededRandom) => ({
    ...mutated(schedule, other, random, draws),
    ...(random.chance(0.1) && anySurroundings(random)),
  }),
  causes: ({ moves }) => moves.map(causeOf),
  play: (schedule) => noted(schedule, play),
};

/** Plays a schedule, and takes note of what the run reaches. */
async function noted<S>(schedule: S, played: (schedule: S, features: Features) => Promise<ProductRun>) {
  const features = new Features();
  const { violation, events, passes, end } = await played(schedule, features);
  features.seen.add(`ends ${end}`);
  return { features: features.seen, violation: violation?.message, events, passes };
}
