/**
 * A run of the real operator under a schedule of faults. When they end, the cluster must come to rest within its
 * time, be what its spec says (or tell a person why not), say so truthfully, and then be left in peace.
 */
import { causeOf, type Features } from "../guided/features.ts";
import { Violation } from "../oracles/oracle.ts";
import type { ProductRun } from "../driver/product-run.ts";
import { run, type Wait } from "../driver/run.ts";
import { endStateOf, oldLeaves, reportedBy, staysQuiet, untrue, wrongWith } from "./judge.ts";
import { Moves } from "./moves.ts";
import type { Schedule } from "./deeds.ts";
import { heedTLS } from "./given-world.ts";
import { scheduleOf } from "./schedule.ts";
import { unfinishedSnapshots, wrongSnapshots } from "./snapshot-truth.ts";
import { OperatorSimulation } from "./simulation.ts";
import { hasQuorumOfData } from "./status-truth.ts";

/** Virtual time in which the cluster has to come to rest after the last fault. */
const BOUND_MS = 900_000;
/** While faults last it need not. */
const PATIENCE_MS = 300_000;
/** Waits for a person that say that the data cannot be served any more. */
const LOST = new Set(["QuorumLost", "DataGone", "NoQuorum"]);

export async function operatorRun(seed: number, denials?: readonly string[]): Promise<ProductRun> {
  return await play(scheduleOf(seed, denials));
}

/** `features` takes note of what the run reaches. */
export async function play(schedule: Schedule, features?: Features): Promise<ProductRun> {
  const { seed, operators, spec, effects, nodesForbidden = false, aheadMs = 0, leastClusters = 0 } = schedule;
  const { nodesAheadMs = [] } = schedule;
  const sim = new OperatorSimulation(spec, {
    seed,
    operators,
    effects: new Map(effects),
    nodesForbidden,
    aheadMs,
    leastClusters,
    ...(features && {
      onPass: ({ decision, observation, status: { conditions } }) =>
        features.note({ decision, observation, conditions }),
    }),
  });
  const { nodes } = sim.env;
  nodesAheadMs.forEach((ms, index) => nodes.clocks.set(nodes.names[index] ?? "", ms));
  sim.tell(`create ${JSON.stringify(spec)} with ${operators} operators`);
  return await run(seed, sim, life(sim, schedule, features), (violation) => {
    sim.tell(violation ? `!! ${violation.message}` : sim.converged ? "converged" : sim.whyNot());
    const { env } = sim;
    return {
      steps: sim.steps,
      passes: sim.passes,
      events: env.scheduler.ran,
      acknowledged: env.ledger.acknowledged,
      crashes: sim.deaths.length,
      end: sim.converged ? "converged" : reportedBy(sim).join(","),
      trace: [...sim.lines, ...sim.troubles],
    };
  });
}

async function* life(
  sim: OperatorSimulation,
  { settled, moves, spec }: Schedule,
  features?: Features,
): AsyncGenerator<Wait> {
  const deeds = new Moves(sim);
  if (settled) yield { rest: PATIENCE_MS };
  for (const move of moves) {
    const { waitMs, ...deed } = move;
    features?.under(causeOf(deed));
    deeds.perform(deed);
    yield { pass: waitMs };
  }
  deeds.end();
  const { replicas, paused } = sim.cluster?.spec ?? {};
  if (replicas === 0 || paused === true) {
    sim.edit({ replicas: Math.max(1, replicas ?? 1), paused: false });
    sim.tell("wake");
  }
  if (!(await heededRest(sim)) && !needsAnnouncement(sim)) throw new Violation("convergence", sim.whyNot());
  if (isCorrupt(sim)) {
    // Found at the latest by the hourly comparison.
    yield { pass: 2 * 3_600_000 };
    yield { settle: BOUND_MS };
  }
  await judge(sim);
  if (sim.converged || saysLost(sim)) return;
  // I8: a person takes back what cannot be.
  const version = sim.latest?.observation.members[0]?.record.template.version;
  const options = { snapshotCount: null, extraArgs: null, ...spec.options };
  if (!sim.edit({ image: null, pod: null, options }))
    throw new Violation("I8", "what was so at first is refused");
  if (version !== undefined) sim.edit({ version });
  sim.tell("the bad edits are taken back");
  // What a person has to do may be told while something else waits for its time, which begins anew with an operator.
  for (let rests = 0; rests < 3 && !sim.converged && !saysLost(sim); rests++)
    if (!(await heededRest(sim))) throw new Violation("convergence", sim.whyNot());
  // They may have hidden that the data was lost.
  if (!sim.converged && !saysLost(sim)) throw new Violation("I8", sim.whyNot());
  await judge(sim);
}

function saysLost(sim: OperatorSimulation): boolean {
  return reportedBy(sim).some((reason) => LOST.has(reason));
}

/** What a user gave may be what keeps it from coming to rest: the status says so, and the user does what it says. */
async function heededRest(sim: OperatorSimulation): Promise<boolean> {
  if (await sim.comesToRest(BOUND_MS)) return true;
  return (await heedTLS(sim)) && (await sim.comesToRest(BOUND_MS));
}

/** The first members of all cannot start with an image that is not there: the wait is told, and a person ends it. */
function needsAnnouncement(sim: OperatorSimulation): boolean {
  return (
    sim.env.established() === undefined && sim.cluster?.spec.image.repository.startsWith("nowhere") === true
  );
}

function isCorrupt(sim: OperatorSimulation): boolean {
  return sim.env.world.network.all().some((server) => server.runs && server.dir.corruption !== 0);
}

/** The longest time after which a finished operation is deleted, and some. */
const EXPIRY_MS = 90_000;
/** Certificates are seen by a look at a cluster as a whole, which takes turns among many; after a jump of all clocks they wait for it. */
const WHOLE_LOOK_MS = 2 * 150_000;

/** A few of them, one after the other, each with its deadline, its back-off, and its verification. */
const SNAPSHOTS_MS = 1_800_000;

async function judge(sim: OperatorSimulation): Promise<void> {
  if (sim.converged && oldLeaves(sim).length > 0) {
    await sim.pass(WHOLE_LOOK_MS);
    await sim.comesToRest(BOUND_MS);
  }
  if (sim.converged && sim.operations.expiring().length > 0) {
    await sim.pass(EXPIRY_MS);
    await sim.comesToRest(BOUND_MS);
  }
  for (let waitedMs = 0; waitedMs < SNAPSHOTS_MS && unfinishedSnapshots(sim).length > 0; waitedMs += 10_000)
    await sim.pass(10_000);
  const wrong = sim.converged
    ? [...wrongWith(sim), ...sim.operations.expiring(), ...unfinishedSnapshots(sim)]
    : untrue(sim);
  wrong.push(...wrongSnapshots(sim));
  if (wrong.length > 0) throw new Violation("end state", wrong.join("; "));
  const reported = reportedBy(sim);
  if (saysLost(sim) && hasQuorumOfData(sim))
    throw new Violation("end state", `${reported.join(",")}, though a quorum of the data is there`);
  const { voters } = endStateOf(sim);
  const isRefused =
    reported.length > 0 &&
    reported.every((reason) => reason === "VersionRefused" || reason === "TargetFailed");
  if (isRefused && voters > 0 && voters !== sim.cluster?.spec.replicas)
    throw new Violation("end state", `${reported.join(",")} keeps the size at ${voters}`);
  if (sim.converged) await staysQuiet(sim);
}
