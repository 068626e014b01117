/**
 * What is done to a cluster of the rules' own platform in one run, as data: the same events as those of random-run.ts,
 * but made up beforehand, so that they can be changed, written to a file and played again. Members are picked by
 * number from those there are when their time comes.
 */
import type { EtcdClusterSpecInput } from "../../src/api/etcd-cluster-spec.ts";
import type { FaultName } from "../rules/faults.ts";
import type { SeededRandom } from "../engine/random.ts";
import { SeededRandom as Seeded } from "../engine/random.ts";
import { DENIALS, DESTRUCTIVE, PASSING, VERSIONS } from "../rules/random-run.ts";
import { mutated, type Draws } from "./mutate.ts";

export type RulesDeed =
  | { readonly do: "edit"; readonly change: Readonly<Partial<EtcdClusterSpecInput>> }
  | {
      readonly do: "member";
      readonly fault: FaultName;
      readonly pick: number;
      /** Although the cluster cannot spare it. */
      readonly reckless?: boolean;
    };

/** Each deed is followed by its wait, or by as long as it takes to come to rest. */
export type RulesMove = RulesDeed & { readonly waitMs: number; readonly rest: boolean };

export type RulesEffectFault = "crash-after" | "reply-lost";

export interface RulesSchedule {
  readonly seed: number;
  readonly spec: EtcdClusterSpecInput;
  readonly settled: boolean;
  readonly effects: readonly (readonly [number, RulesEffectFault])[];
  readonly moves: readonly RulesMove[];
}

const WAITS = [50, 500, 3_000, 10_000, 40_000, 400_000] as const;
/** Not drawn by plain seeds. */
const RARE: readonly FaultName[] = ["forget-record", "remove-member"];

export function rulesScheduleOf(seed: number): RulesSchedule {
  const random = new Seeded(seed ^ 0x5c4ed);
  return {
    seed,
    spec: { replicas: random.pick([1, 1, 2, 3, 3, 3, 5]), version: random.pick(VERSIONS) },
    settled: random.chance(0.7),
    effects: Array.from({ length: random.between(0, 6) }, () => effectOf(random)).toSorted(
      (a, b) => a[0] - b[0],
    ),
    moves: Array.from({ length: random.between(1, 8) }, () => moveOf(random)),
  };
}

function effectOf(random: SeededRandom): readonly [number, RulesEffectFault] {
  return [random.between(1, 150), random.pick(["crash-after", "reply-lost"])];
}

function moveOf(random: SeededRandom): RulesMove {
  return { ...deedOf(random), waitMs: random.pick(WAITS), rest: random.chance(0.3) };
}

function deedOf(random: SeededRandom): RulesDeed {
  const dice = random.fraction();
  const pick = random.between(0, 999);
  if (dice < 0.45) return { do: "edit", change: editOf(random) };
  if (dice < 0.55) return { do: "member", fault: random.pick(DESTRUCTIVE), pick };
  if (dice < 0.57) return { do: "member", fault: random.pick(DESTRUCTIVE), pick, reckless: true };
  if (dice < 0.62) return { do: "member", fault: random.pick(RARE), pick };
  if (dice < 0.72) return { do: "member", fault: random.pick([...DENIALS, "stop", "stop"]), pick };
  return { do: "member", fault: random.pick(PASSING), pick };
}

function editOf(random: SeededRandom): Partial<EtcdClusterSpecInput> {
  return random.pick<() => Partial<EtcdClusterSpecInput>>([
    () => ({ replicas: random.pick([0, 1, 2, 3, 3, 4, 5, 5, 7]) }),
    () => ({ replicas: random.pick([1, 3, 5]) }),
    () => ({ version: random.pick(VERSIONS) }),
    () => ({ version: random.pick(VERSIONS) }),
    () => ({ learners: random.pick([0, 1, 2]) }),
    () => ({ options: { snapshotCount: random.between(1, 50) * 1000 } }),
    () => ({ options: { extraArgs: { "tls-min-version": random.pick(["TLS1.2", "bogus"]) } } }),
    () => ({ storage: { className: random.pick(["fast", "slow"]) } }),
    () => ({ paused: random.chance(0.3) }),
    () => ({ update: { canary: random.chance(0.7) } }),
  ])();
}

const draws: Draws<RulesMove, RulesEffectFault> = {
  move: moveOf,
  effect: effectOf,
  retime: (move, random) => ({
    ...move,
    waitMs: random.pick(WAITS),
    rest: random.chance(0.3),
    ...(move.do === "member" && { pick: random.between(0, 999) }),
  }),
};

export function mutatedRules(
  schedule: RulesSchedule,
  other: RulesSchedule,
  random: SeededRandom,
): RulesSchedule {
  return mutated(schedule, other, random, draws);
}
