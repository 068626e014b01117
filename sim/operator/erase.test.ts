/** Directories on nodes and `retention: Delete` on the real operator: deleted by a Pod, or left behind and told. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { EtcdClusterSpecInput } from "../../src/api/etcd-cluster-spec.ts";
import { pods } from "../models/kube/kinds/pod.ts";
import { json } from "../models/kube/object.ts";
import type { EffectPlan } from "./effects.ts";
import { etcdMembers } from "./environment.ts";
import type { EraseFault } from "./etcd-pods.ts";
import { staysQuiet, wrongWith } from "./judge.ts";
import { OperatorSimulation } from "./simulation.ts";

const MINUTE = 60_000;
const SPEC: EtcdClusterSpecInput = {
  replicas: 3,
  version: "3.6.16",
  storage: {
    medium: "HostPath",
    hostPath: "/disks",
    size: "1Gi",
    retention: { onScaleIn: "Delete", onDelete: "Delete" },
  },
};

async function settled(effects?: EffectPlan, spec = SPEC): Promise<OperatorSimulation> {
  const sim = new OperatorSimulation(spec, { seed: 7, ...(effects && { effects }) });
  await sim.settle();
  return sim;
}

const directories = ({ env }: OperatorSimulation) =>
  env.disks.paths.filter((path) => path.includes("/disks/"));
const erasers = ({ env }: OperatorSimulation) =>
  env.server.list(pods).filter(({ metadata }) => metadata.name.startsWith("erase-"));
const records = ({ env }: OperatorSimulation) => env.server.list(etcdMembers);
const told = (sim: OperatorSimulation) => sim.lines.filter((line) => line.includes("its data remains in"));

test("the directory of a member goes with it, on scale-in, on replacement and with the cluster", async () => {
  const sim = await settled();
  assert.equal(directories(sim).length, 3);
  sim.edit({ replicas: 1 });
  await sim.settle();
  await sim.pass(MINUTE);
  assert.deepEqual([directories(sim).length, erasers(sim), told(sim)], [1, [], []]);
  assert.deepEqual(wrongWith(sim), []);
  await staysQuiet(sim);
  sim.deleteCluster();
  await sim.pass(MINUTE);
  assert.deepEqual([sim.isGone, directories(sim), erasers(sim)], [true, [], []]);
});

test("with retention Retain no directory is touched", async () => {
  const retention = { onScaleIn: "Retain", onDelete: "Retain" } as const;
  const sim = await settled(undefined, { ...SPEC, storage: { ...SPEC.storage, retention } });
  sim.edit({ replicas: 1 });
  await sim.settle();
  sim.deleteCluster();
  await sim.pass(MINUTE);
  assert.deepEqual([sim.isGone, directories(sim).length, told(sim)], [true, 3, []]);
});

const FAULTS: Readonly<Record<string, { fault: EraseFault; afterMs: number; why: RegExp }>> = {
  refuses: { fault: "refused", afterMs: MINUTE, why: /it was not deleted: a test/ },
  hangs: { fault: "hang", afterMs: 6 * MINUTE, why: /could not be deleted within 5 min/ },
};

for (const [what, { fault, afterMs, why }] of Object.entries(FAULTS))
  test(`a Pod that ${what} leaves the directory behind, which is told, and nothing waits for it for ever`, async () => {
    const sim = await settled();
    sim.env.pods.eraseFaults.push(fault);
    sim.edit({ replicas: 1 });
    await sim.pass(afterMs);
    assert.deepEqual([directories(sim).length, records(sim).length], [3, 1], sim.lines.slice(-5).join("\n"));
    assert.equal(told(sim).length, 2);
    for (const line of told(sim)) assert.match(line, why);
    await sim.pass(MINUTE);
    assert.deepEqual(erasers(sim), []);
    await staysQuiet(sim);
  });

test("a Pod that fails is started again by its kubelet", async () => {
  const sim = await settled();
  sim.env.pods.eraseFaults.push("failed", "failed", "failed");
  sim.edit({ replicas: 1 });
  await sim.pass(3 * MINUTE);
  assert.deepEqual([directories(sim).length, told(sim)], [1, []]);
});

test("a cluster is deleted although the node of a directory is gone", async () => {
  const sim = await settled();
  const { server } = sim.env;
  const [pod] = server.list(pods);
  const node = String(json(pod?.["spec"])["nodeName"]);
  sim.env.nodes.remove(node);
  sim.deleteCluster();
  await sim.pass(8 * MINUTE);
  assert.ok(sim.isGone, sim.lines.slice(-5).join("\n"));
  assert.match(told(sim).join("\n"), new RegExp(`on ${node}: the node no longer exists`));
});

test("the operator dies after each effect of a scale-in and a deletion, and no directory stays", async () => {
  const play = async (effects?: EffectPlan) => {
    const sim = await settled(effects, { ...SPEC, replicas: 2 } as EtcdClusterSpecInput);
    sim.edit({ replicas: 1 });
    await sim.pass(MINUTE);
    sim.deleteCluster();
    await sim.pass(2 * MINUTE);
    return { sim, end: [sim.isGone, directories(sim), erasers(sim), told(sim)] };
  };
  const usual = await play();
  assert.deepEqual(usual.end, [true, [], [], []]);
  const { names } = usual.sim.effects;
  assert.equal(names.filter((name) => name.startsWith("POST pods erase-")).length, 2, names.join("\n"));
  const first = names.findIndex((name) => name.startsWith("POST pods erase-"));
  for (let number = first + 1; number <= names.length; number++) {
    const { end, sim } = await play(new Map([[number, "crash-after"]]));
    assert.deepEqual(end, usual.end, `after ${names[number - 1]}: ${sim.lines.slice(-5).join("\n")}`);
  }
});
