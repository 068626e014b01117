/**
 * What is done to a cluster and its operators in one run, as data: made up from a seed, written to a file, made
 * smaller. Members and nodes are picked by number from those there are when their time comes.
 */
import type { EtcdClusterSpecInput } from "../../src/api/etcd-cluster-spec.ts";
import { SeededRandom } from "../engine/random.ts";
import { denied, type Denial } from "./denial-schedule.ts";
import { effectFaults, type EffectFault } from "./effects.ts";
import { operated, type Operate } from "./operation-schedule.ts";

/** What happens to one member; those that destroy its data happen only when the cluster can spare it. */
export const memberFaults = [
  "kill",
  "delete-pod",
  "evict",
  "freeze",
  "slow",
  "move-leader",
  "disk-full",
  "delete-member",
  "wipe",
  "lose-volume",
  "delete-claim",
  "break-file",
  "corrupt",
] as const;
/** What plain seeds do not draw, so that they stay what they are: taken out of etcd's list by hand. */
export const rareMemberFaults = ["remove-member"] as const;
export const nodeFaults = ["crash", "cut", "freeze", "drain", "remove", "no-room"] as const;
export const operatorFaults = ["kill", "freeze", "cut", "cut-lease"] as const;
export const apiFaults = [
  "restart",
  "freeze",
  "stop",
  "lag",
  "lost",
  "reply-lost",
  "silent",
  "busy",
] as const;
/** What a person does by hand to an object that the operator made. */
export const handiwork = ["delete", "strip", "disown"] as const;
export const handmade = ["secrets", "services", "poddisruptionbudgets", "pods"] as const;
/** Of these only labels and owners are taken, since their deletion is a request, or loses data. */
export const records = ["persistentvolumeclaims", "etcdmembers"] as const;
/** What operators keep caches of. */
export const caches = [
  "etcdclusters",
  "etcdmembers",
  "pods",
  "persistentvolumeclaims",
  "secrets",
  "services",
  "poddisruptionbudgets",
  "nodes",
] as const;
/** Also held where operations are under way; plain seeds do not draw it. */
export const allCaches = [...caches, "etcdoperations"] as const;

export type MemberFault = (typeof memberFaults)[number] | (typeof rareMemberFaults)[number];

export type Deed =
  | { readonly do: "edit"; readonly change: Readonly<Record<string, unknown>> }
  | {
      readonly do: "member";
      readonly fault: MemberFault;
      readonly pick: number;
      /** Also while something else is wrong, as long as a quorum of the others is well. */
      readonly bold?: boolean;
    }
  | {
      readonly do: "node";
      readonly fault: (typeof nodeFaults)[number];
      readonly pick: number;
      readonly forMs: number;
    }
  | {
      readonly do: "operator";
      readonly fault: (typeof operatorFaults)[number];
      readonly pick: number;
      readonly forMs: number;
    }
  | {
      readonly do: "hand";
      readonly what: (typeof handiwork)[number];
      readonly plural: (typeof handmade)[number] | (typeof records)[number];
      readonly pick: number;
    }
  /** A person replaces the certificates in the Secrets that the spec names: from another CA, or the same one. */
  | { readonly do: "give"; readonly ca: number }
  /** A person fences a member, or takes that back. */
  | { readonly do: "fence"; readonly pick: number; readonly on: boolean }
  /** The wall clock jumps, of one operator or of everything; certificates grow old by it. */
  | { readonly do: "clock"; readonly pick: number; readonly everywhere: boolean; readonly jumpMs: number }
  | { readonly do: "api"; readonly fault: (typeof apiFaults)[number]; readonly forMs: number }
  | {
      readonly do: "hold";
      readonly cache: (typeof allCaches)[number];
      readonly forMs: number;
      /** What happened meanwhile is never told. */
      readonly skip: boolean;
      /** The operators begin anew with what is held. */
      readonly restart: boolean;
    }
  | Operate
  | Denial;

/** Each deed is followed by its wait. */
export type Move = Deed & { readonly waitMs: number };

export interface Schedule {
  readonly seed: number;
  readonly operators: number;
  readonly spec: EtcdClusterSpecInput;
  /** Whether the cluster may come to rest before the first move. */
  readonly settled: boolean;
  /** As installed for one namespace: what is cluster-wide may not be read. */
  readonly nodesForbidden?: boolean;
  /** How far the wall clock of every operator is ahead, for the whole run. */
  readonly aheadMs?: number;
  /** It is looked at as if there were at least so many clusters: mostly by short looks. */
  readonly leastClusters?: number;
  readonly effects: readonly (readonly [number, EffectFault])[];
  readonly moves: readonly Move[];
}

/** So many that most looks at rest are short. */
const MANY_CLUSTERS = 200;
const VERSIONS = ["3.5.33", "3.5.35", "3.6.16", "3.7.1", "3.7.3"] as const;
export const WAITS = [20, 200, 1_000, 3_000, 10_000, 40_000] as const;
const [MINUTE, HOUR, DAY] = [60_000, 3_600_000, 86_400_000] as const;
const JUMPS = [-2 * HOUR, -10 * MINUTE, -30_000, 30_000, 10 * MINUTE, 2 * HOUR] as const;
/** Leaves last 90 days, and are renewed long before; but none of them is valid before it was made. */
const LEAPS = [-30_000, 30_000, 10 * MINUTE, 2 * HOUR, 40 * DAY, 80 * DAY] as const;
export const LASTING = [500, 3_000, 12_000, 30_000, 90_000] as const;

/**
 * The schedule of a seed; in some people fence members, and most are denied something on top, of the kinds named where
 * some are.
 */
export function scheduleOf(seed: number, denials?: readonly string[]): Schedule {
  const fences = fenced(plainScheduleOf(seed), new SeededRandom(seed ^ 0xfe4ce));
  const schedule = operated(fences, new SeededRandom(seed ^ 0x0be7a7));
  const random = new SeededRandom(seed ^ 0xde41ed);
  return denials || random.chance(0.6) ? denied(schedule, random, denials) : schedule;
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
