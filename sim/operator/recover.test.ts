/** Recovery from quorum loss by the whole operator on modelled nodes. */
import assert from "node:assert/strict";
import process from "node:process";
import { test } from "node:test";
import type { EtcdClusterStatus } from "../../src/api/etcd-cluster-status.ts";
import { API_VERSION } from "../../src/api/metadata.ts";
import { LABELS } from "../../src/operator/names.ts";
import { pods } from "../models/kube/kinds/pod.ts";
import type { EffectPlan } from "./effects.ts";
import { NAME, NAMESPACE } from "./environment.ts";
import { staysQuiet, wrongWith } from "./judge.ts";
import { OperatorSimulation } from "./simulation.ts";

const SPEC = { replicas: 3, version: "3.6.16" };
/** One of so many: all of them take minutes. */
const EVERY = process.env["EVERY_EFFECT"] === undefined ? 20 : 1;
const OPERATIONS = `/apis/${API_VERSION}/namespaces/${NAMESPACE}/etcdoperations`;

const statusOf = (sim: OperatorSimulation) => sim.env.cluster()?.["status"] as EtcdClusterStatus | undefined;

/** Two of three members lose what they had, at once. */
async function lostQuorum(
  seed: number,
  spec: object = {},
  effects?: EffectPlan,
): Promise<OperatorSimulation> {
  const sim = new OperatorSimulation({ ...SPEC, ...spec }, { seed, ...(effects && { effects }) });
  await sim.settle();
  await sim.pass(20_000);
  sim.harm();
  for (const { disk, server } of ["demo-2", "demo-3"].map((name) => ({
    disk: diskOf(sim, name),
    server: sim.env.pods.server(name),
  }))) {
    assert.ok(disk !== undefined && server);
    sim.env.world.signal(server, "SIGKILL");
    sim.env.disks.wipe(disk);
  }
  return sim;
}

function diskOf({ env }: OperatorSimulation, member: string): string | undefined {
  return env.diskOf(member);
}

function approve(sim: OperatorSimulation, plan: string, name = "recover"): void {
  const metadata = { name, namespace: NAMESPACE };
  const spec = { cluster: NAME, recoverQuorum: { approve: plan } };
  const body = { apiVersion: API_VERSION, kind: "EtcdOperation", metadata, spec };
  assert.equal(sim.user({ method: "POST", path: OPERATIONS, body }).status, 201);
  sim.operations.asked(name, sim.converged);
}

async function planned(sim: OperatorSimulation): Promise<string> {
  for (let i = 0; i < 300; i++) {
    const plan = statusOf(sim)?.recovery?.plan;
    if (plan !== undefined) return plan;
    await sim.pass(1_000);
  }
  return assert.fail(`no plan: ${statusOf(sim)?.message}\n${sim.lines.slice(-20).join("\n")}`);
}

const helpers = ({ env }: OperatorSimulation) =>
  env.server.list(pods).filter(({ metadata }) => metadata.labels?.[LABELS.task] !== undefined);

test("two of three are wiped: the plan is told, and the approved one brings back all that the survivor had", async () => {
  const sim = await lostQuorum(1);
  const plan = await planned(sim);
  assert.deepEqual(
    statusOf(sim)?.recovery?.members.map(({ data }) => data),
    ["Found", "Lost", "Lost"],
  );
  assert.equal(sim.env.recovery.forced, 0, "nothing is done before a person approves");
  approve(sim, plan);
  await sim.settle();
  assert.deepEqual(sim.operations.outcomes(), ["recover Succeeded Completed"]);
  assert.equal(sim.converged, true, sim.whyNot());
  assert.deepEqual(wrongWith(sim), []);
  assert.equal(sim.env.recovery.forced, 1);
  await staysQuiet(sim);
  assert.deepEqual(helpers(sim), []);
});

test("the operator may be killed after any effect of a recovery (a few of them here)", async () => {
  const first = await lostQuorum(2);
  const plan = await planned(first);
  const from = first.effects.count;
  approve(first, plan);
  await first.settle();
  const effects = first.effects.count - from;
  assert.ok(effects > 15, `${effects}`);
  for (let nth = 1; nth <= effects; nth += EVERY) {
    const sim = await lostQuorum(2, {}, new Map([[from + nth, "crash-after"]]));
    approve(sim, await planned(sim));
    await sim.settle();
    assert.deepEqual(sim.operations.outcomes(), ["recover Succeeded Completed"], `effect ${nth}`);
    assert.deepEqual(wrongWith(sim), [], `effect ${nth}`);
    assert.deepEqual(helpers(sim), [], `effect ${nth}`);
  }
});

test("a wrong plan, and one that is old because a member came back, are refused and change nothing", async () => {
  const sim = await lostQuorum(3);
  const plan = await planned(sim);
  approve(sim, "0123456789abcdef", "wrong");
  await sim.settle();
  assert.deepEqual(sim.operations.outcomes(), ["wrong Rejected PlanChanged"]);
  assert.equal(statusOf(sim)?.recovery?.plan, plan, "it stays as it is");
  assert.equal(sim.env.recovery.forced, 0);
});

test("a rescue that keeps failing ends the operation, and the members are started again as they were", async () => {
  const sim = await lostQuorum(4);
  const plan = await planned(sim);
  sim.env.recovery.failing = 3;
  approve(sim, plan);
  await sim.settle();
  assert.deepEqual(sim.operations.outcomes(), ["recover Failed StepFailed"]);
  assert.ok(sim.env.pods.server("demo-1")?.runs, "the survivor runs again");
  assert.equal(statusOf(sim)?.recovery?.plan, plan, "another approval can try again");
  approve(sim, plan, "again");
  await sim.settle();
  assert.ok(
    sim.operations.outcomes().includes("again Succeeded Completed"),
    sim.operations.outcomes().join(),
  );
});

test("HostPath: the first new member starts on the node that has the survivor's directory", async () => {
  const storage = { medium: "HostPath", size: "1Gi", hostPath: "/data" } as const;
  const sim = new OperatorSimulation({ ...SPEC, storage }, { seed: 5 });
  await sim.settle();
  await sim.pass(20_000);
  sim.harm();
  const lost = ["demo-2", "demo-3"].map((name) => sim.env.pods.server(name));
  for (const server of lost) {
    assert.ok(server);
    sim.env.world.signal(server, "SIGKILL");
    sim.env.disks.wipe(server.config.dataDir.replace(/\/data$/, ""));
  }
  const node = sim.env.server.get(pods, `${NAMESPACE}/demo-1`);
  approve(sim, await planned(sim));
  await sim.settle();
  assert.deepEqual(sim.operations.outcomes(), ["recover Succeeded Completed"]);
  const first = sim.env.server.get(pods, `${NAMESPACE}/demo-4`);
  const nodeOf = (pod: typeof first) => (pod?.["spec"] as { nodeName?: string } | undefined)?.nodeName;
  assert.equal(nodeOf(first), nodeOf(node));
});

test("a kubelet that runs etcd a second time on the same copy is caught", async () => {
  const sim = await lostQuorum(6);
  sim.env.recovery.runsTwice = true;
  approve(sim, await planned(sim));
  await assert.rejects(sim.settle(), /ran twice on the same copy/);
});

test("a rescue that drops what the survivor had not heard to be committed is caught", async () => {
  const sim = await lostQuorum(7);
  const whole = sim.env.recovery.rescuedKeys;
  sim.env.recovery.rescuedKeys = (dir) => whole(dir).slice(0, -1);
  approve(sim, await planned(sim));
  await assert.rejects(sim.settle(), /was not rescued/);
});
