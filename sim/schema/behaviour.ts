/**
 * What a field changes that no object shows at rest: the same things happen to two clusters that differ in it alone,
 * from the same seed, and what the operator does is compared to the byte. Draws and latencies are the same in both as
 * long as the field has no influence, so the first difference is the field's doing.
 */
import type { EtcdClusterSpecInput } from "../../src/api/etcd-cluster-spec.ts";
import { claims } from "../models/kube/kinds/claim.ts";
import { items, json } from "../models/kube/object.ts";
import { Moves } from "../operator/moves.ts";
import { OperatorSimulation } from "../operator/simulation.ts";
import type { Spec } from "./check.ts";

const SEED = 7;
const MINUTE = 60_000;
const MI = 2 ** 20;

class Watched {
  readonly sim: OperatorSimulation;
  readonly deeds: Moves;
  readonly seen: string[] = [];

  constructor(spec: Spec) {
    this.sim = new OperatorSimulation(spec as unknown as EtcdClusterSpecInput, { seed: SEED });
    this.deeds = new Moves(this.sim);
  }

  /** Time passes; whenever the status says something else it is noted. */
  async pass(ms: number): Promise<void> {
    for (let left = ms; left > 0; left -= 5_000) {
      await this.sim.pass(Math.min(5_000, left));
      const conditions = items(json(this.sim.env.cluster()?.["status"])["conditions"]);
      const text = conditions.map(({ type, status, reason }) => [type, status, reason].join(" ")).join(", ");
      if (this.seen.at(-1) !== text) this.seen.push(text);
    }
  }

  put(key: string, bytes: number, times: number): void {
    const { world, keys } = this.sim.env;
    const leader = world.network
      .all()
      .find((server) => server.runs && world.raftOf(server).leader === server);
    for (let i = 0; i < times && leader; i++)
      try {
        keys.put(leader, key, bytes);
      } catch {
        // The quota is full, which is what some want.
      }
    if (leader) keys.compact(leader, leader.dir.state.revision);
  }

  end(): string {
    const { sim } = this;
    const left = sim.env.server.list(claims).map(({ metadata }) => metadata.name);
    return [...sim.lines, ...sim.effects.names, ...this.seen, ...left].join("\n");
  }
}

/** What befalls clusters, and shows how they are looked after. */
const STIMULI: Readonly<Record<string, (cluster: Watched) => Promise<void>>> = {
  "a Pod is deleted": async ({ deeds, sim }) => {
    deeds.perform({ do: "member", fault: "delete-pod", pick: 0 });
    await sim.pass(MINUTE);
  },
  "an option is changed": async (cluster) => {
    cluster.sim.edit({ options: { snapshotCount: 4_321 } });
    await cluster.pass(2 * MINUTE);
  },
  "members leave": async (cluster) => {
    cluster.sim.edit({ replicas: 1 });
    await cluster.pass(2 * MINUTE);
  },
  "the cluster is deleted": async (cluster) => {
    cluster.sim.deleteCluster();
    await cluster.pass(2 * MINUTE);
  },
  "an image that is not there": async (cluster) => {
    cluster.sim.edit({ image: { repository: "nowhere.example/etcd" } });
    await cluster.pass(4 * MINUTE);
  },
  "a change that cannot be": async (cluster) => {
    cluster.sim.edit({ options: { extraArgs: { "tls-min-version": "bogus" } } });
    await cluster.pass(6 * MINUTE);
  },
  "a node is gone": async (cluster) => {
    cluster.deeds.perform({ do: "node", fault: "crash", pick: 0, forMs: 60 * MINUTE });
    await cluster.pass(12 * MINUTE);
  },
  "data is lost again and again": async (cluster) => {
    for (let i = 0; i < 5; i++) {
      cluster.deeds.perform({ do: "member", fault: "wipe", pick: 0 });
      await cluster.pass(MINUTE);
    }
  },
  "much is written and deleted": async (cluster) => {
    cluster.put("live", 200 * MI, 1);
    cluster.put("gone", 50 * MI, 10);
    await cluster.pass(70 * MINUTE);
  },
  "clients need no certificate for a while": async (cluster) => {
    cluster.sim.edit({ tls: { clientAuth: "None" } });
    await cluster.pass(2 * MINUTE);
    cluster.sim.edit({ tls: { clientAuth: "Required" } });
    await cluster.pass(4 * MINUTE);
  },
  "the quota is full": async (cluster) => {
    cluster.put("gone", 300 * MI, 12);
    await cluster.pass(10 * MINUTE);
  },
};

const known = new Map<string, Promise<string>>();

async function story(spec: Spec, stimulus: string): Promise<string> {
  const cluster = new Watched(spec);
  await cluster.sim.comesToRest(5 * MINUTE);
  await STIMULI[stimulus]?.(cluster);
  return cluster.end();
}

interface Synonym {
  readonly path: RegExp;
  readonly value: string;
  readonly reason: string;
}

/** Values that say what is so without them; nothing can differ. */
const SYNONYMS: readonly Synonym[] = [
  {
    path: /^spec\.tls\.(client|peer)(\.mode)?$/,
    value: "Managed",
    reason: "the mode of the planes is the mode of tls, which is Managed in the base",
  },
  {
    path: /^spec\.tls\.transition(\.proceed)?$/,
    value: "Approval",
    reason: "without it an approval is needed too",
  },
];

/** Why a value may well make no difference. */
export function synonymOf(path: string, value: unknown): string | undefined {
  const words = [value, ...Object.values(typeof value === "object" && value !== null ? value : {})];
  return SYNONYMS.find((one) => one.path.test(path) && words.includes(one.value))?.reason;
}

/** Which of them ends otherwise with this spec; undefined when none does. */
export async function showsIn(base: Spec, spec: Spec): Promise<string | undefined> {
  for (const stimulus of Object.keys(STIMULI)) {
    const key = `${JSON.stringify(base)} ${stimulus}`;
    const plain = known.get(key) ?? story(base, stimulus);
    known.set(key, plain);
    if ((await story(spec, stimulus)) !== (await plain)) return stimulus;
  }
  return undefined;
}
