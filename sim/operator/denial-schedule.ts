/**
 * What the operator alone is denied, for long: to reach etcd, to make objects, to read Nodes, to be the only one who
 * writes a field, to find objects by their labels. Drawn on top of a schedule, which stays what it is otherwise. A fault
 * is drawn once what it found is mended; until then only a schedule from a file has it.
 */
import type { SeededRandom } from "../engine/random.ts";
import { contested, emptied, refusals, refused, type Deed, type Move, type Schedule } from "./deeds.ts";

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
  "node clock": true,
  "strip policies": true,
  bold: true,
  "late files": true,
  "kubelet cut": true,
  emptied: true,
  /** Snapshots, restores in place and recoveries, which schedule.ts draws by itself: see data-schedule.ts. */
  data: false,
} satisfies Record<string, boolean>;

export type DenialName = keyof typeof denials;

const [MINUTE, HOUR] = [60_000, 3_600_000] as const;
/** Some outlast `repair.memberLostAfter`. */
export const LONG = [12_000, 90_000, 400_000, 900_000] as const;
export const LONG_WAITS = [1_000, 40_000, 150_000, 400_000, 700_000] as const;
/** Certificates begin an hour in the past: with a clock that is further ahead none can be issued. */
const AHEAD = [-2 * HOUR, -10 * MINUTE, -30_000, 30_000, 10 * MINUTE, 50 * MINUTE] as const;
/** None of it, nor two together, is just where a difference begins to be reported: that would come and go. */
const NODE_JUMPS = [-2 * HOUR, -10 * MINUTE, -45_000, 45_000, 10 * MINUTE, 52 * MINUTE] as const;
/** A few seconds are what two machines may differ by without anybody's fault. */
const NODES_AHEAD = [0, 0, -5_000, 5_000, ...NODE_JUMPS] as const;
const MOST_NODES = 5;
/** A kubelet was measured at 0.2 s; one with much to do takes as long as its next sync. */
const LATE = [2_000, 10_000, 40_000] as const;

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

/** Files of Secrets that are late, kubelets that are cut off alone, data that is gone: each where the others matter most. */
const ON_FILES: Partial<Record<DenialName, Drawn>> = {
  "late files": (random) => [
    { do: "late-files", lateMs: random.pick(LATE), forMs: random.pick(LONG) },
    { do: "edit", change: { replicas: random.pick([1, 2, 3, 5]) } },
  ],
  "kubelet cut": (random) => [{ do: "cut-kubelet", pick: random.between(0, 999), forMs: random.pick(LONG) }],
  emptied: (random) => [{ do: "empty", who: random.pick(emptied), pick: random.between(0, 999) }],
};

/** What plain seeds draw after all else, for schedules that are made in another way. */
const ALSO: readonly Drawn[] = [
  (random) => [{ do: "node-clock", pick: random.between(0, 999), jumpMs: random.pick(NODE_JUMPS) }],
  (random) => [policyHarm(random)],
  ...Object.values(ON_FILES),
];

/** Moves of every kind. */
export function anyDenialMoves(random: SeededRandom): readonly Move[] {
  if (random.chance(0.6)) return denialMoves(random);
  return random
    .pick(ALSO)(random)
    .map((deed) => ({ ...deed, waitMs: random.pick(LONG_WAITS) }));
}

/** What a whole run is denied: right clocks, or a look at Nodes. */
export function anySurroundings(
  random: SeededRandom,
): Pick<Schedule, "nodesForbidden" | "aheadMs" | "nodesAheadMs"> {
  return random.pick([
    () => ({ nodesForbidden: random.chance(0.7) }),
    () => ({ aheadMs: random.pick([0, ...AHEAD]) }),
    () => ({ nodesAheadMs: nodesAhead(random) }),
  ])();
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
  const aheadMs = isAhead && random.pick(AHEAD);
  const moves = some.length === 0 ? schedule.moves : schedule.moves.toSpliced(at, 0, ...some, ...provoking);
  const withClocks = withNodeClocks(
    { ...schedule, ...(isForbidden && { nodesForbidden: true }), ...(aheadMs && { aheadMs }), moves },
    random,
    names,
  );
  return withFiles(withPolicies(withClocks, random, names), random, names);
}

/** While members boot and join, their first file counts, and a leader that ends remembers nobody's progress. */
const SOON = [300, 1_000, 2_000, 4_000, 8_000] as const;

/** Drawn after all else, so that schedules without it stay what they were. */
function withFiles(schedule: Schedule, random: SeededRandom, names: readonly string[]): Schedule {
  const kinds = Object.entries(ON_FILES).filter(([name]) => names.includes(name));
  const isAsked = names.every((name) => name in ON_FILES);
  if (kinds.length === 0 || !(isAsked || random.chance(0.15))) return schedule;
  const drawn = kinds.filter(() => random.chance(0.6)).flatMap(([, draw]) => draw(random));
  const between: Deed[] = random.chance(0.4)
    ? [{ do: "member", fault: random.pick(["kill", "move-leader"]), pick: random.between(0, 999) }]
    : [];
  const moves = [...drawn.slice(0, -1), ...between, ...drawn.slice(-1)].map((deed): Move => ({
    ...deed,
    waitMs: random.pick(random.chance(0.8) ? SOON : LONG_WAITS),
  }));
  const isAtFirst = random.chance(0.4);
  const at = isAtFirst ? 0 : random.between(0, schedule.moves.length);
  // What is wrong from the first moment on is so for the first members.
  const settled = isAtFirst ? false : schedule.settled;
  return { ...schedule, settled, moves: schedule.moves.toSpliced(at, 0, ...moves) };
}

/** A NetworkPolicy, which only some specs ask for, is deleted or loses its labels or its owner. Drawn after all else as well. */
function withPolicies(schedule: Schedule, random: SeededRandom, names: readonly string[]): Schedule {
  if (!names.includes("strip policies") || !(names.length === 1 || random.chance(0.1))) return schedule;
  const harm = policyHarm(random);
  const deeds: Deed[] = [{ do: "edit", change: { networkPolicy: { enabled: true } } }, harm];
  const moves = deeds.map((deed): Move => ({ ...deed, waitMs: random.pick(LONG_WAITS) }));
  const at = random.between(0, schedule.moves.length);
  return { ...schedule, moves: schedule.moves.toSpliced(at, 0, ...moves) };
}

function policyHarm(random: SeededRandom): Deed {
  return {
    do: "hand",
    what: random.pick(["delete", "strip", "disown"]),
    plural: "networkpolicies",
    pick: random.between(0, 999),
  };
}

function nodesAhead(random: SeededRandom): readonly number[] {
  return Array.from({ length: MOST_NODES }, () => random.pick(NODES_AHEAD));
}

/** Drawn last, so that schedules without it stay what they were. */
function withNodeClocks(schedule: Schedule, random: SeededRandom, names: readonly string[]): Schedule {
  if (!names.includes("node clock") || !(names.length === 1 || random.chance(0.2))) return schedule;
  const jumps = Array.from({ length: random.pick([0, 1, 1, 2]) }, (): Move => {
    const pick = random.between(0, 999);
    return { do: "node-clock", pick, jumpMs: random.pick(NODE_JUMPS), waitMs: random.pick(LONG_WAITS) };
  });
  // What is made from then on is what a clock that was set can hurt.
  const provoking = jumps.map((): Move => ({ ...provocation(random), waitMs: random.pick(LONG_WAITS) }));
  const at = random.between(0, schedule.moves.length);
  return {
    ...schedule,
    nodesAheadMs: nodesAhead(random),
    moves: schedule.moves.toSpliced(at, 0, ...jumps, ...provoking),
  };
}
