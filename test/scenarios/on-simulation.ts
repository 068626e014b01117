/** Scenarios in the simulator: the product on a modelled machine, and the operator on the model API server. */
import type { EtcdClusterStatus } from "../../src/api/etcd-cluster-status.ts";
import { describeEntry } from "../../src/control/transcript.ts";
import { MachineSimulation } from "../../sim/machine/simulation.ts";
import { Refusal } from "../../sim/models/etcd/refusal.ts";
import type { Keys } from "../../sim/models/etcd/kv.ts";
import type { Server } from "../../sim/models/etcd/server.ts";
import type { EtcdWorld } from "../../sim/models/etcd/world.ts";
import { OperatorSimulation } from "../../sim/operator/simulation.ts";
import type { Scenario, ScenarioPlatform } from "./platform.ts";

const MOMENT_MS = 500;
const decoder = new TextDecoder();

/** Through the first member that serves and can. */
function through<T>(world: EtcdWorld, call: (server: Server) => T): T {
  let last: unknown = new Error("no member serves");
  for (const server of world.network.all()) {
    if (!server.serving || !server.runs || server.frozen || server.isLearner) continue;
    try {
      return call(server);
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      last = error;
    }
  }
  throw last;
}

function client(world: EtcdWorld, keys: Keys): Pick<ScenarioPlatform, "put" | "get"> {
  return {
    async put(key, value) {
      await Promise.resolve();
      through(world, (server) => keys.put(server, key, value.length, new TextEncoder().encode(value)));
    },
    async get(key) {
      await Promise.resolve();
      const [found] = through(world, (server) => keys.range(server, key, undefined, false));
      return found && decoder.decode(found[1].value);
    },
  };
}

export async function onMachine(scenario: Scenario, seed: number): Promise<ScenarioPlatform> {
  const sim = await MachineSimulation.create(scenario.spec, { seed });
  const kill = (member: string) => {
    const server = sim.processes.server(member);
    if (server) sim.world.signal(server, "SIGKILL");
  };
  return {
    ...client(sim.world, sim.keys),
    edit: (change) => sim.edit(change),
    generation: () => Promise.resolve(sim.cluster()?.generation ?? 0),
    status: () => Promise.resolve(sim.latest?.status ?? {}),
    moment: () => sim.pass(MOMENT_MS),
    async kill(member) {
      kill(member);
      await Promise.resolve();
    },
    async wipe(member) {
      await sim.disk.remove(sim.files.volume(member).data);
      kill(member);
    },
    story: () => [...sim.steps.map(describeEntry), sim.whyNot()].join("\n"),
    [Symbol.asyncDispose]: () => Promise.resolve(),
  };
}

export function onModelKubernetes(scenario: Scenario, seed: number): ScenarioPlatform {
  const sim = new OperatorSimulation(scenario.spec, { seed });
  const { env } = sim;
  const kill = (member: string) => {
    sim.harm();
    const server = env.pods.server(member);
    if (server) env.world.signal(server, "SIGKILL");
  };
  return {
    ...client(env.world, env.keys),
    async edit(change) {
      await Promise.resolve();
      if (!sim.edit(change)) throw new Error(`the API server refuses ${JSON.stringify(change)}`);
    },
    generation: () => Promise.resolve(sim.cluster?.metadata.generation ?? 0),
    status: () => Promise.resolve((sim.cluster?.status ?? {}) as EtcdClusterStatus),
    moment: () => sim.pass(MOMENT_MS),
    async kill(member) {
      kill(member);
      await Promise.resolve();
    },
    async wipe(member) {
      const disk = env.diskOf(member);
      kill(member);
      if (disk !== undefined) env.disks.wipe(disk);
      await Promise.resolve();
    },
    story: () => [...sim.lines.slice(-20), sim.whyNot()].join("\n"),
    [Symbol.asyncDispose]: () => Promise.resolve(),
  };
}
