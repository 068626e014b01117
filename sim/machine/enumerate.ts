/**
 * The product itself, killed after every single write it makes: each record, configuration, certificate, run
 * file, process and call to etcd of a scenario. It must end as the run without a fault does.
 */
import type { StoredMember } from "../../src/local/store.ts";
import type { Enumerated, Move, Scenario } from "../rules/enumerate.ts";
import { Violation } from "../oracles/oracle.ts";
import { MachineSimulation } from "./simulation.ts";

async function perform(sim: MachineSimulation, move: Move): Promise<void> {
  if ("edit" in move) return await sim.edit(move.edit);
  const { fault, member = "" } = move;
  const server = sim.processes.server(member);
  const volume = sim.files.volume(member);
  switch (fault) {
    case "kill":
      if (server) sim.world.signal(server, "SIGKILL");
      return;
    case "wipe":
      await sim.disk.remove(volume.data);
      if (server) sim.world.signal(server, "SIGKILL");
      return;
    case "lose-volume":
      await sim.disk.remove(volume.dir);
      if (server) sim.world.signal(server, "SIGKILL");
      return;
    case "freeze":
      if (server) sim.world.freeze(server);
      return;
    case "crash-operator":
      return sim.kill();
    default:
      throw new RangeError(`${fault} is not a fault of a machine`);
  }
}

/** How it ended, in what must not depend on when the controller died. */
async function endState(sim: MachineSimulation): Promise<string> {
  const files = await sim.disk.list(sim.files.members);
  const records = files.map((file) => {
    const text = sim.disk.text(`${sim.files.members}/${file}`) ?? "{}";
    return (JSON.parse(text) as StoredMember).record;
  });
  const running = sim.world.network.all().filter((server) => server.runs);
  const leader = running.find((server) => sim.world.raftOf(server).leader === server);
  return JSON.stringify({
    records: records.length,
    versions: [...new Set(records.map((record) => record.template.version))],
    processes: running.length,
    voters: leader?.dir.state.voters().length,
    learners: leader?.dir.state.learners(),
    volumes: (await sim.disk.list(sim.files.volumes)).length,
    configs: (await sim.disk.list(sim.files.config)).length,
    reported: sim.latest?.decision.holds.filter((hold) => hold.next !== undefined).map((hold) => hold.reason),
  });
}

export async function playOnMachine(
  scenario: Scenario,
  seed: number,
  plan: { readonly crashAfter?: number; readonly loseReplyOf?: number } = {},
): Promise<{ sim: MachineSimulation; end: string }> {
  const sim = await MachineSimulation.create(scenario.spec, {
    seed,
    faults: {
      ...(plan.crashAfter === undefined ? {} : { crashAfter: new Set([plan.crashAfter]) }),
      ...(plan.loseReplyOf === undefined ? {} : { loseReplyOf: new Set([plan.loseReplyOf]) }),
    },
  });
  await sim.settle();
  for (const move of scenario.moves) {
    await perform(sim, move);
    await sim.settle();
  }
  if (sim.converged) await mustStayQuiet(sim);
  return { sim, end: await endState(sim) };
}

/** I7: nothing is written and no membership call is made once all is as it should be. */
async function mustStayQuiet(sim: MachineSimulation): Promise<void> {
  const before = sim.effects.count;
  await sim.pass(120_000);
  const since = sim.effects.names.slice(before);
  if (since.length > 0) throw new Violation("I7", `converged, and yet: ${since.slice(0, 5).join(", ")}`);
}

/** All plans of a scenario; `every` takes only each n-th effect, for a quick look. */
export async function enumerateOnMachine(scenario: Scenario, seed: number, every = 1): Promise<Enumerated> {
  const plain = await playOnMachine(scenario, seed);
  const { names } = plain.sim.effects;
  const failures: { plan: string; message: string }[] = [];
  const sums = { plans: 0, events: plain.sim.scheduler.ran, passes: plain.sim.passes };
  for (let number = 1; number <= names.length; number += every) {
    const name = names[number - 1] ?? "";
    for (const kind of ["crashAfter", "loseReplyOf"] as const) {
      // Only a call to etcd has an answer that can get lost on the way.
      if (kind === "loseReplyOf" && !/^(Cluster|Maintenance|KV)\./.test(name)) continue;
      sums.plans++;
      const words = `${kind === "crashAfter" ? "killed after" : "lost reply of"} effect ${number} (${name})`;
      try {
        const { sim, end } = await playOnMachine(scenario, seed, { [kind]: number });
        sums.events += sim.scheduler.ran;
        sums.passes += sim.passes;
        if (end !== plain.end)
          failures.push({ plan: words, message: `ends as ${end}, without the fault as ${plain.end}` });
      } catch (error) {
        if (!(error instanceof Error)) throw error;
        failures.push({ plan: words, message: error.message });
      }
    }
  }
  return { scenario: scenario.name, effects: names.length, ...sums, failures };
}
