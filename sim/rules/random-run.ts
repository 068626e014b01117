/**
 * A run made up from its seed: a cluster, edits and faults at random moments, an operator that dies and loses
 * answers. When the faults end, the cluster must come to what its spec says, or tell a person what it needs.
 */
import type { EtcdClusterSpecInput } from "../../src/api/etcd-cluster-spec.ts";
import { quorum } from "../../src/core/quorum.ts";
import { endState, faultsOf } from "../oracles/end-state.ts";
import { inflict, makeWhole, type FaultName } from "./faults.ts";
import { Refusal } from "../models/etcd/refusal.ts";
import { Violation } from "../oracles/oracle.ts";
import type { ProductRun } from "../driver/product-run.ts";
import { run, type Wait } from "../driver/run.ts";
import { mustStayQuiet } from "../oracles/quiet.ts";
import { SeededRandom } from "../engine/random.ts";
import { judgeEndedOperations, randomTask } from "./operations.ts";
import { formatLine, summary } from "./script.ts";
import { Simulation } from "./simulation.ts";

export const VERSIONS = ["3.5.33", "3.5.35", "3.6.14", "3.6.16", "3.7.1", "3.7.3"] as const;

/** Faults that destroy a copy of the data. */
export const DESTRUCTIVE: readonly FaultName[] = [
  "wipe",
  "lose-volume",
  "swap-volume",
  "break-file",
  "corrupt",
];
export const PASSING: readonly FaultName[] = [
  "kill",
  "kill",
  "freeze",
  "thaw",
  "slow",
  "fast",
  "cut",
  "heal",
  "disk-full",
  "disk-freed",
  "move-leader",
  "crash-operator",
];

/** What the operator alone is denied, and how it ends; on top of what a seed draws otherwise. */
export const DENIALS: readonly FaultName[] = ["blind", "blind", "blind-to-all", "sighted", "refuse", "allow"];
/** How often after a move; and how often somebody is stopped just then. */
const DENIAL = { chance: 0.15, stops: 0.5 } as const;
/** How often somebody asks for a task after a move, and cancels one. */
const TASKS = { chance: 0.25, cancelled: 0.15 } as const;
/** How often a schedule takes snapshots, and its store begins or ends to refuse after a move. */
const BACKUPS = { chance: 0.4, turns: 0.2 } as const;
const LONGEST_TTL_S = 60;
/** Virtual time in which the cluster has to come to rest after the last fault. */
const BOUND_MS = 2 * 3_600_000;

/** How often after a move a person fences a member, or takes that back. */
const FENCING = { chance: 0.12, fences: 0.65 } as const;

/**
 * `deny`: whether the operator is also denied sight and workloads; `fences`: whether people fence members; `tasks`:
 * whether they ask for operations; `backups`: whether there is a schedule of snapshots. Kept seeds may be from before.
 */
export async function randomRun(
  seed: number,
  deny: readonly string[] | boolean = true,
  fences = true,
  tasks = true,
  backups = true,
): Promise<ProductRun> {
  const fencing = new SeededRandom(seed ^ 0xfe4ce);
  const random = new SeededRandom(seed ^ 0x5eed);
  const denying = new SeededRandom(seed ^ 0xde41ed);
  const operating = new SeededRandom(seed ^ 0x7a5c);
  const keeping = new SeededRandom(seed ^ 0xbac0);
  const chance = deny === true ? DENIAL.chance : deny === false ? 0 : 0.3;
  const effects = new Set(Array.from({ length: random.between(0, 6) }, () => random.between(1, 150)));
  const lost = new Set(Array.from({ length: random.between(0, 4) }, () => random.between(1, 150)));
  const spec: EtcdClusterSpecInput = {
    replicas: random.pick([1, 1, 2, 3, 3, 3, 5]),
    version: random.pick(VERSIONS),
    // Nobody there has to load anything, and a soak counts as rest.
    tls: { rotation: { soak: "0s" } },
  };
  const sim = new Simulation(spec, { seed, faults: { crashAfter: effects, loseReplyOf: lost } });
  return await lived(seed, sim, spec, function* (say) {
    if (backups && keeping.chance(BACKUPS.chance)) sim.objects.backups.begin();
    yield random.chance(0.7) ? { settle: undefined } : { pass: random.between(0, 4_000) };
    const count = random.between(1, 8);
    for (let moves = 0; moves < count; moves++) {
      say(move(sim, random));
      if (denying.chance(chance)) say(denial(sim, denying));
      if (fences && fencing.chance(FENCING.chance)) say(fence(sim, fencing));
      if (tasks && operating.chance(TASKS.chance)) say(operate(sim, operating));
      if (backups && keeping.chance(BACKUPS.turns)) {
        sim.objects.backups.denies = !sim.objects.backups.denies;
        say(`the store of snapshots ${sim.objects.backups.denies ? "refuses" : "works"}`);
      }
      yield random.chance(0.3)
        ? { rest: 600_000 }
        : { pass: random.pick([50, 500, 3_000, 10_000, 40_000, 400_000]) };
    }
  });
}

type Say = (what: string) => void;

/** A run of the rules: its life, then all faults end; the cluster has its time to come to rest, and is judged. */
export function lived(
  seed: number,
  sim: Simulation,
  spec: EtcdClusterSpecInput,
  life: (say: Say) => Iterable<Wait>,
): Promise<ProductRun> {
  const trace: string[] = [];
  sim.listen((line) => trace.push(formatLine(line)));
  const say: Say = (what) =>
    trace.push(`${`${(sim.scheduler.now / 1000).toFixed(1)}s`.padStart(8)}  >> ${what}`);
  function* whole() {
    say(`create ${JSON.stringify(spec)}`);
    yield* life(say);
    yield* comeToAnEnd(sim, say);
  }
  return run(seed, sim, whole(), (violation) => ({
    ...totalsOf(sim),
    trace: [...trace, ...summary(sim), ...(violation ? [`!! ${violation.message}`] : [])],
  }));
}

function totalsOf(sim: Simulation) {
  return {
    steps: sim.lines.length,
    passes: sim.operator.passes,
    events: sim.scheduler.ran,
    acknowledged: sim.ledger.acknowledged,
    crashes: sim.crashes.length,
    end: sim.converged ? "converged" : endState(sim).reported.join(","),
  };
}

function* comeToAnEnd(sim: Simulation, say: Say): Iterable<Wait> {
  makeWhole(sim);
  say("all faults end");
  if (sim.spec.replicas === 0 || sim.spec.paused) {
    sim.edit({ replicas: Math.max(1, sim.spec.replicas), paused: false });
    say("wake");
  }
  yield { settle: BOUND_MS };
  if (isCorrupt(sim)) {
    // Found at the latest by the hourly comparison.
    yield { pass: BOUND_MS };
    yield { settle: BOUND_MS };
  }
  // Finished operations are deleted when their time has come.
  if (sim.objects.operations.size > 0) yield { pass: LONGEST_TTL_S * 1000 + 1_000 };
  judge(sim);
}

function isCorrupt(sim: Simulation): boolean {
  return sim.world.network.all().some((server) => server.runs && server.dir.corruption !== 0);
}

function judge(sim: Simulation): void {
  const wrong = faultsOf(sim);
  if (wrong.length > 0) throw new Violation("end state", wrong.join("; "));
  if (sim.converged) {
    judgeEndedOperations([...sim.objects.operations.values()]);
    mustStayQuiet(sim, 300_000);
  }
  const { reported, voters } = endState(sim);
  // A refused version or option must not keep the size from being reached, unless nothing is taken back by itself.
  if (!sim.spec.update.canary) return;
  if (
    reported.length > 0 &&
    reported.every((reason) => reason === "VersionRefused" || reason === "TargetFailed")
  ) {
    if (voters > 0 && voters !== sim.spec.replicas) {
      throw new Violation(
        "end state",
        `${reported.join(",")} keeps the size at ${voters}, not ${sim.spec.replicas}`,
      );
    }
  }
}

function move(sim: Simulation, random: SeededRandom): string {
  const names = [...sim.objects.records.keys()];
  const member = names.length > 0 ? random.pick(names) : "";
  const dice = random.fraction();
  if (dice < 0.45) return edit(sim, random);
  if (dice < 0.6) {
    const { voters, healthy } = sim.oracle.truth();
    // More copies than the cluster can spare are destroyed only now and then: little is left to check after.
    const spare = voters >= 3 && healthy.size === voters && sim.objects.established;
    if (!spare && !random.chance(0.05)) return "nothing";
    const fault = random.pick(DESTRUCTIVE);
    inflict(sim, fault, member);
    return `${fault} ${member} (${healthy.size} of ${voters} healthy, quorum ${quorum(voters)})`;
  }
  const fault = random.pick(PASSING);
  inflict(sim, fault, member);
  return `${fault} ${member}`;
}

function operate(sim: Simulation, random: SeededRandom): string {
  const { operations, records } = sim.objects;
  const open = [...operations.keys()];
  if (open.length > 0 && random.chance(TASKS.cancelled)) {
    const name = random.pick(open);
    operations.delete(name);
    return `delete ${name}`;
  }
  const task = randomTask(random, [...records.keys()]);
  return `${sim.operate(task, random.chance(0.5) ? undefined : random.pick([0, LONGEST_TTL_S]))} ${JSON.stringify(task)}`;
}

/** Often something ends just then that has to be made again. */
function denial(sim: Simulation, random: SeededRandom): string {
  const names = [...sim.objects.records.keys()];
  if (names.length === 0) return "nothing";
  const [fault, member] = [random.pick(DENIALS), random.pick(names)];
  inflict(sim, fault, member);
  if (!random.chance(DENIAL.stops)) return `${fault} ${member}`;
  sim.pods.stop(member);
  return `${fault} ${member}, and it is stopped`;
}

function fence(sim: Simulation, random: SeededRandom): string {
  const names = [...sim.objects.records.keys()];
  if (names.length === 0) return "nothing";
  const [fault, member] = [random.chance(FENCING.fences) ? "fence" : "unfence", random.pick(names)] as const;
  inflict(sim, fault, member);
  return `${fault} ${member}`;
}

function edit(sim: Simulation, random: SeededRandom): string {
  const change: Partial<EtcdClusterSpecInput> = random.pick<() => Partial<EtcdClusterSpecInput>>([
    () => ({ replicas: random.pick([0, 1, 2, 3, 3, 4, 5, 5, 7]) }),
    () => ({ replicas: random.pick([1, 3, 5]) }),
    () => ({ version: random.pick(VERSIONS) }),
    () => ({ version: random.pick(VERSIONS) }),
    () => ({ learners: sim.spec.version < "3.6" ? random.pick([0, 1]) : random.pick([0, 1, 2]) }),
    () => ({ options: { snapshotCount: random.between(1, 50) * 1000 } }),
    () => ({ options: { extraArgs: { "tls-min-version": random.pick(["TLS1.2", "bogus"]) } } }),
    () => ({ storage: { className: random.pick(["fast", "slow"]) } }),
    () => ({ paused: random.chance(0.3) }),
    () => ({ update: { canary: random.chance(0.7) } }),
    () => ({
      tls: {
        rotation: sim.spec.tls.rotation,
        // One draw, so that seeds from before mean the same.
        ...random.pick([
          { clientAuth: "None" as const },
          { clientAuth: "None" as const, peer: { mode: "Disabled" as const } },
          { peer: { mode: "Disabled" as const } },
          { clientAuth: "Required" as const },
        ]),
        transition: { proceed: "After", after: random.pick(["1s", "1m"]) },
      },
    }),
  ])();
  try {
    sim.edit(change);
    return `edit ${JSON.stringify(change)}`;
  } catch (error) {
    if (error instanceof Violation || error instanceof Refusal) throw error;
    return `edit ${JSON.stringify(change)} is invalid`;
  }
}
