/** The schedule of a run, made up from a seed. */
import { SeededRandom } from "../engine/random.ts";
import {
  apiFaults,
  caches,
  handiwork,
  handmade,
  memberFaults,
  nodeFaults,
  operatorFaults,
  type Deed,
  type Move,
  type Schedule,
} from "./deeds.ts";
import { backed } from "./data-schedule.ts";
import { denied } from "./denial-schedule.ts";
import { effectFaults, type EffectFault } from "./effects.ts";
import { operated } from "./operation-schedule.ts";
import { secured } from "./security-schedule.ts";

/** So many that most looks at rest are short. */
const MANY_CLUSTERS = 200;
const VERSIONS = ["3.5.33", "3.5.35", "3.6.16", "3.7.1", "3.7.3"] as const;
export const WAITS = [20, 200, 1_000, 3_000, 10_000, 40_000] as const;
const [MINUTE, HOUR, DAY] = [60_000, 3_600_000, 86_400_000] as const;
const JUMPS = [-2 * HOUR, -10 * MINUTE, -30_000, 30_000, 10 * MINUTE, 2 * HOUR] as const;
/** Leaves last 90 days, and are renewed long before; but none of them is valid before it was made. */
const LEAPS = [-30_000, 30_000, 10 * MINUTE, 2 * HOUR, 40 * DAY, 80 * DAY] as const;
export const LASTING = [500, 3_000, 12_000, 30_000, 90_000] as const;

/** Seeds up to here were run before schedules had snapshots, restores and recoveries, and stay what they were. */
const LAST_WITHOUT_DATA = 2_000;

/**
 * The schedule of a seed; in some people fence members, ask for operations, change TLS and auth, or save and restore data,
 * and most are denied something on top, of the kinds named where some are.
 */
export function scheduleOf(seed: number, denials?: readonly string[]): Schedule {
  const fences = fenced(plainScheduleOf(seed), new SeededRandom(seed ^ 0xfe4ce));
  const operations = operated(fences, new SeededRandom(seed ^ 0x0be7a7));
  const schedule = secured(operations, new SeededRandom(seed ^ 0x5ec2e));
  const random = new SeededRandom(seed ^ 0xde41ed);
  const all = denials || random.chance(0.6) ? denied(schedule, random, denials) : schedule;
  return isBacked(seed, denials) ? backed(all, new SeededRandom(seed ^ 0xbac09)) : all;
}

function isBacked(seed: number, denials: readonly string[] | undefined): boolean {
  if (denials) return denials.includes("data");
  return seed > LAST_WITHOUT_DATA && new SeededRandom(seed ^ 0xda7a5).chance(0.25);
}

function fenced(schedule: Schedule, random: SeededRandom): Schedule {
  if (!random.chance(0.3)) return schedule;
  const moves = Array.from({ length: random.between(1, 3) }).reduce<readonly Move[]>((all) => {
    const deed: Deed = { do: "fence", pick: random.between(0, 999), on: random.chance(0.7) };
    return all.toSpliced(random.between(0, all.length), 0, { ...deed, waitMs: random.pick(WAITS) });
  }, schedule.moves);
  return { ...schedule, moves };
}

function plainScheduleOf(seed: number): Schedule {
  const random = new SeededRandom(seed ^ 0x09e7a7);
  const version = random.pick(VERSIONS);
  const memory = random.chance(0.1);
  return {
    seed,
    operators: random.pick([1, 1, 1, 2, 2]),
    spec: {
      replicas: random.pick([1, 2, 3, 3, 3, 5]),
      version,
      // Nobody there has to load anything, and a soak counts as rest.
      tls: { rotation: { soak: "0s" } },
      ...(memory && { storage: { medium: "Memory", size: "64Mi" }, options: { quotaBackendBytes: "16Mi" } }),
    },
    settled: random.chance(0.7),
    ...(seed % 2 === 1 && { leastClusters: MANY_CLUSTERS }),
    effects: Array.from({ length: random.between(0, 5) }, () => effectOf(random)).toSorted(
      (a, b) => a[0] - b[0],
    ),
    moves: Array.from({ length: random.between(1, 6) }, () => moveOf(random)),
  };
}

export function effectOf(random: SeededRandom): readonly [number, EffectFault] {
  return [random.between(1, 250), random.pick(effectFaults)];
}

export function moveOf(random: SeededRandom): Move {
  return { ...deed(random), waitMs: random.pick(WAITS) };
}

function deed(random: SeededRandom): Deed {
  const dice = random.fraction();
  const pick = random.between(0, 999);
  const forMs = random.pick(LASTING);
  if (dice < 0.33) return { do: "edit", change: edit(random) };
  if (dice < 0.56) return { do: "member", fault: random.pick(memberFaults), pick };
  if (dice < 0.68) return { do: "node", fault: random.pick(nodeFaults), pick, forMs };
  if (dice < 0.76) return { do: "operator", fault: random.pick(operatorFaults), pick, forMs };
  if (dice < 0.84) return { do: "api", fault: random.pick(apiFaults), forMs };
  if (dice < 0.89) return { do: "hand", what: random.pick(handiwork), plural: random.pick(handmade), pick };
  if (dice < 0.92) {
    const everywhere = random.chance(0.5);
    return { do: "clock", pick, everywhere, jumpMs: random.pick(everywhere ? LEAPS : JUMPS) };
  }
  const cache = random.pick(caches);
  return { do: "hold", cache, forMs, skip: random.chance(0.5), restart: random.chance(0.5) };
}

function edit(random: SeededRandom): Record<string, unknown> {
  return random.pick<() => Record<string, unknown>>([
    () => ({ replicas: random.pick([0, 1, 2, 3, 4, 5]) }),
    () => ({ replicas: random.pick([1, 3, 5]) }),
    () => ({ replicas: 3, learners: 0 }),
    () => ({ version: random.pick(VERSIONS) }),
    () => ({ version: random.pick(VERSIONS) }),
    () => ({ learners: random.pick([0, 1]) }),
    () => ({ options: { snapshotCount: random.between(1, 50) * 1_000 } }),
    () => ({ options: { extraArgs: { "tls-min-version": random.pick(["TLS1.2", "bogus"]) } } }),
    () => ({ pod: { resources: { requests: { cpu: `${random.between(1, 9)}00m` } } } }),
    () => ({ image: { repository: random.pick(["registry.example/etcd", "nowhere.example/etcd"]) } }),
    () => ({ paused: random.chance(0.3) }),
  ])();
}
