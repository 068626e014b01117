/**
 * The product itself, killed after every single write it makes: each record, configuration, certificate, run
 * file, process and call to etcd of a scenario. It must end as the run without a fault does.
 */
import type { EtcdOperationSpec } from "../../src/api/etcd-operation.ts";
import { operationFacts } from "../../src/core/operations/task.ts";
import type { StoredMember } from "../../src/local/store.ts";
import { crashesAndLostReplies, type EffectFaults, type World } from "../driver/enumerate.ts";
import { endsOf, scenarios, type Move, type Scenario } from "../rules/enumerate.ts";
import { Violation } from "../oracles/oracle.ts";
import { MachineSimulation } from "./simulation.ts";

type MachineMove =
  | Move
  /** These members lose their data at once. */
  | { readonly wipe: readonly string[] }
  /** A person approves the plan of a recovery. */
  | { readonly recover: true }
  /** A person asks for the plan of a restore in place, and approves it. */
  | { readonly restore: true };

export interface MachineScenario extends Omit<Scenario, "moves"> {
  readonly moves: readonly MachineMove[];
}

const machineScenarios: readonly MachineScenario[] = [
  ...scenarios.filter(({ rulesOnly }) => !rulesOnly),
  {
    name: "recover from a survivor",
    spec: { replicas: 3, version: "3.6.16" },
    moves: [{ wipe: ["demo-2", "demo-3"] }, { recover: true }],
  },
  {
    name: "restore a snapshot in place",
    spec: { replicas: 3, version: "3.6.16" },
    moves: [{ restore: true }],
  },
];

async function recover(sim: MachineSimulation): Promise<void> {
  const approve = sim.latest?.status.recovery?.plan;
  if (approve === undefined) throw new Violation("convergence", "quorum is lost, and there is no plan");
  await sim.operations.create("recover", { cluster: "demo", recoverQuorum: { approve } });
}

async function restore(sim: MachineSimulation): Promise<void> {
  const source = { file: { path: "/backups/demo.db" } };
  await sim.operations.create("plan", { cluster: "demo", restore: { source } });
  await sim.settle();
  const { operations } = await sim.operations.list();
  const { message = "" } = operations.find(({ metadata }) => metadata.name === "plan")?.status ?? {};
  const [, approve] = /approve: ([0-9a-f]{16})/.exec(message) ?? [];
  if (approve === undefined) throw new Violation("end state", `no plan of a restore is told: ${message}`);
  sim.replaced = sim.cluster()?.marks.established?.clusterID;
  await sim.operations.create("restore", { cluster: "demo", restore: { source, approve } });
}

async function perform(sim: MachineSimulation, move: MachineMove): Promise<void> {
  if ("edit" in move) return await sim.edit(move.edit);
  if ("operate" in move) {
    const { kind, ...parameters } = move.operate;
    await sim.operations.create(kind.toLowerCase(), {
      cluster: "demo",
      [kind]: parameters,
    } as EtcdOperationSpec);
    return;
  }
  if ("outageMs" in move) throw new RangeError("an outage is not of a machine");
  if ("recover" in move) return await recover(sim);
  if ("restore" in move) return await restore(sim);
  if ("wipe" in move) {
    for (const member of move.wipe) await perform(sim, { fault: "wipe", member });
    return;
  }
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
  const { operations } = await sim.operations.list();
  return JSON.stringify({
    operations: endsOf(operations.map((operation) => operationFacts(operation))),
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

/** I7: nothing is written and no membership call is made once all is as it should be. */
async function mustStayQuiet(sim: MachineSimulation): Promise<void> {
  const before = sim.effects.count;
  await sim.pass(120_000);
  const since = sim.effects.names.slice(before);
  if (since.length > 0) throw new Violation("I7", `converged, and yet: ${since.slice(0, 5).join(", ")}`);
}

export const machineWorld: World<MachineScenario, EffectFaults> = {
  scenarios: machineScenarios,
  // Only a call to etcd has an answer that can get lost on the way.
  plans: (_, { effects }, every) =>
    crashesAndLostReplies(effects, every, "killed", (name) => /^(Cluster|Maintenance|KV)\./.test(name)),
  async play({ spec, moves }, seed, faults = {}) {
    const sim = await MachineSimulation.create(spec, { seed, faults });
    await sim.settle();
    for (const move of moves) {
      await perform(sim, move);
      await sim.settle();
    }
    if (sim.converged) await mustStayQuiet(sim);
    const { effects, scheduler, passes } = sim;
    return { end: await endState(sim), effects: effects.names, events: scheduler.ran, passes };
  },
};
