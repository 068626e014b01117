/** Scenarios in the simulator: the product on a modelled machine, and the operator on the model API server. */
import type { EtcdClusterStatus } from "../../src/api/etcd-cluster-status.ts";
import type { EtcdOperation } from "../../src/api/etcd-operation.ts";
import { API_VERSION } from "../../src/api/metadata.ts";
import { describeEntry } from "../../src/control/transcript.ts";
import { MachineSimulation } from "../../sim/machine/simulation.ts";
import { Refusal } from "../../sim/models/etcd/refusal.ts";
import type { Keys } from "../../sim/models/etcd/kv.ts";
import type { Server } from "../../sim/models/etcd/server.ts";
import type { EtcdWorld } from "../../sim/models/etcd/world.ts";
import { etcdOperations, NAME, NAMESPACE } from "../../sim/operator/environment.ts";
import { OperatorSimulation } from "../../sim/operator/simulation.ts";
import { told, type Scenario, type ScenarioPlatform } from "./platform.ts";

const MOMENT_MS = 500;
/** What both simulations call their cluster. */
const CLUSTER = NAME;
const OPERATIONS_PATH = `/apis/${API_VERSION}/namespaces/${NAMESPACE}/etcdoperations`;
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
    async operate(name, task) {
      await sim.operations.create(name, { cluster: CLUSTER, ...task });
    },
    operations: async () => told((await sim.operations.list()).operations),
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
    async operate(name, task) {
      await Promise.resolve();
      const metadata = { name, namespace: NAMESPACE };
      const body = {
        apiVersion: API_VERSION,
        kind: "EtcdOperation",
        metadata,
        spec: { cluster: CLUSTER, ...task },
      };
      const { status } = sim.user({ method: "POST", path: OPERATIONS_PATH, body });
      if (status !== 201) throw new Error(`the API server refuses ${JSON.stringify(task)}: ${status}`);
    },
    operations: async () => {
      await Promise.resolve();
      return told(env.server.list(etcdOperations) as unknown as EtcdOperation[]);
    },
    story: () => [...sim.lines.slice(-20), sim.whyNot()].join("\n"),
    [Symbol.asyncDispose]: () => Promise.resolve(),
  };
}
