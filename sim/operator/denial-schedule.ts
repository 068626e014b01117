/**
 * What the operator alone is denied, for long: to reach etcd, to make objects, to read Nodes, to be the only one who
 * writes a field, to find objects by their labels. Drawn on top of a schedule, which stays what it is otherwise. A fault
 * is drawn once what it found is mended; until then only a schedule from a file has it.
 */
import type { SeededRandom } from "../engine/random.ts";
import type { Deed, Move, Schedule } from "./schedule.ts";

export const refused = ["pods", "persistentvolumeclaims", "secrets", "etcdmembers"] as const;
export const refusals = ["webhook", "quota", "forbidden"] as const;
export const contested = ["services", "poddisruptionbudgets", "secrets", "pods"] as const;

export type Denial =
  /** No operator reaches the client port of one member or of all; everybody else does. */
  | { readonly do: "blind"; readonly pick: number; readonly all: boolean; readonly forMs: number }
  /** The API server refuses to create objects of a kind. */
  | {
      readonly do: "refuse";
      readonly plural: (typeof refused)[number];
      readonly how: (typeof refusals)[number];
      readonly forMs: number;
    }
  /** Somebody else insists on another value of a field that is the operator's. */
  | {
      readonly do: "contest";
      readonly plural: (typeof contested)[number];
      readonly pick: number;
      readonly forMs: number;
    }
  /** A Pod is deleted and hangs. */
  | { readonly do: "stick"; readonly pick: number; readonly forMs: number }
  /** Somebody adds a member of his own to etcd's list, which never starts. */
  | { readonly do: "foreign"; readonly learner: boolean }
  /** A member counts a peer as lost although it is connected to it, until their connection breaks (R19). */
  | { readonly do: "doubt"; readonly pick: number };

/** Each kind of denial, and whether schedules are drawn with it. */
export const denials = {
  blind: true,
  refuse: true,
  contest: true,
  stick: true,
  foreign: true,
  doubt: true,
  "strip records": true,
  "lost authority": true,
  "nodes forbidden": true,
  "clock ahead": true,
  bold: true,
} satisfies Record<string, boolean>;

export type DenialName = keyof typeof denials;

const [MINUTE, HOUR] = [60_000, 3_600_000] as const;
/** Some outlast `repair.memberLostAfter`. */
export const LONG = [12_000, 90_000, 400_000, 900_000] as const;
export const LONG_WAITS = [1_000, 40_000, 150_000, 400_000, 700_000] as const;
/** Certificates begin an hour in the past: with a clock that is further ahead none can be issued. */
const AHEAD = [-2 * HOUR, -10 * MINUTE, -30_000, 30_000, 10 * MINUTE, 50 * MINUTE] as const;

function podGoes(random: SeededRandom): Deed {
  return { do: "member", fault: random.pick(["delete-pod", "evict"]), pick: random.between(0, 999) };
}

type Drawn = (random: SeededRandom) => readonly Deed[];

const deeds: Partial<Record<DenialName, Drawn>> = {
  blind: (random) => [
    {
      do: "blind",
      pick: random.between(0, 999),
      all: random.chance(0.5),
      forMs: random.pick(LONG),
    },
  ],
  refuse: (random) => {
    const plural = random.chance(0.6) ? "pods" : random.pick(refused);
    return [
      { do: "refuse", plural, how: random.pick(refusals), forMs: random.pick(LONG) },
      ...(random.chance(0.7) ? [podGoes(random)] : []),
    ];
  },
  contest: (random) => [
    {
      do: "contest",
      plural: random.pick(contested),
      pick: random.between(0, 999),
      forMs: random.pick(LONG),
    },
  ],
  stick: (random) => [{ do: "stick", pick: random.between(0, 999), forMs: random.pick(LONG) }],
  foreign: (random) => [{ do: "foreign", learner: random.chance(0.5) }],
  doubt: (random) => [{ do: "doubt", pick: random.between(0, 999) }],
  "strip records": (random) => [
    {
      do: "hand",
      what: random.pick(["strip", "disown"]),
      plural: random.pick(["persistentvolumeclaims", "etcdmembers"]),
      pick: random.between(0, 999),
    },
  ],
  "lost authority": (random) => [
    { do: "hand", what: "delete", plural: "secrets", pick: random.between(0, 999) },
    { do: "operator", fault: "kill", pick: 0, forMs: 0 },
    ...(random.chance(0.7) ? [podGoes(random)] : []),
  ],
  bold: (random) => [
    {
      do: "member",
      fault: random.pick(["wipe", "lose-volume", "delete-claim", "break-file"]),
      pick: random.between(0, 999),
      bold: true,
    },
  ],
};

/** What makes an operator act on what it was denied. */
function provocation(random: SeededRandom): Deed {
  const pick = random.between(0, 999);
  return random.pick<() => Deed>([
    () => ({ do: "member", fault: random.pick(["delete-pod", "evict", "kill"]), pick }),
    () => ({ do: "edit", change: { options: { snapshotCount: random.between(1, 50) * 1_000 } } }),
    () => ({ do: "edit", change: { options: { extraArgs: { "tls-min-version": "bogus" } } } }),
    () => ({ do: "edit", change: { replicas: random.pick([1, 3, 5]) } }),
    () => ({ do: "operator", fault: "kill", pick, forMs: 0 }),
  ])();
}

const drawnOf = (names: readonly string[]) =>
  names.flatMap((name) => (name in deeds ? [deeds[name as DenialName] as Drawn] : []));

/** Moves of the kinds that are enabled, or of those named. */
export function denialMoves(random: SeededRandom, names: readonly string[] = enabled()): readonly Move[] {
  const kinds = drawnOf(names);
  if (kinds.length === 0) return [];
  return random
    .pick(kinds)(random)
    .map((deed) => ({ ...deed, waitMs: random.pick(LONG_WAITS) }));
}

function enabled(): string[] {
  return Object.entries(denials).flatMap(([name, isOn]) => (isOn ? [name] : []));
}

/** A schedule in which the operator is denied something, and then provoked. */
export function denied(
  schedule: Schedule,
  random: SeededRandom,
  names: readonly string[] = enabled(),
): Schedule {
  const some = Array.from({ length: random.pick([1, 1, 2]) }, () => denialMoves(random, names)).flat();
  const provoking = Array.from({ length: random.pick([0, 1, 2]) }, () => ({
    ...provocation(random),
    waitMs: random.pick(LONG_WAITS),
  }));
  const at = random.between(0, schedule.moves.length);
  const isForbidden = names.includes("nodes forbidden") && random.chance(0.2);
  const isAhead = names.includes("clock ahead") && random.chance(0.2);
  return {
    ...schedule,
    ...(isForbidden && { nodesForbidden: true }),
    ...(isAhead && { aheadMs: random.pick(AHEAD) }),
    moves: some.length === 0 ? schedule.moves : schedule.moves.toSpliced(at, 0, ...some, ...provoking),
  };
}
