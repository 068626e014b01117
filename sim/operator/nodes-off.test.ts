/**
 * A recovery while nodes are silent, by the whole operator on modelled nodes: what a person says of them counts only as
 * long as nothing is heard from there, and a person who was wrong makes no second quorum of one cluster.
 */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { EtcdClusterStatus } from "../../src/api/etcd-cluster-status.ts";
import { Hand } from "../models/kube/controllers.ts";
import { pods } from "../models/kube/kinds/pod.ts";
import { withCondition } from "../models/kube/nodes/conditions.ts";
import { json } from "../models/kube/object.ts";
import { refusal } from "../models/kube/refusal.ts";
import { ask, helpers, operationStatus } from "./approved.ts";
import type { EffectPlan } from "./effects.ts";
import { staysQuiet, wrongWith } from "./judge.ts";
import { OperatorSimulation } from "./simulation.ts";

const SPEC = { replicas: 3, version: "3.6.16", storage: { size: "1Gi", className: "local" } } as const;
const MINUTE = 60_000;
const AWAY = ["demo-2", "demo-3"] as const;

const statusOf = (sim: OperatorSimulation) => sim.env.cluster()?.["status"] as EtcdClusterStatus | undefined;
const outcomes = (sim: OperatorSimulation) => sim.operations.outcomes().join();
const isRunning = (sim: OperatorSimulation) => operationStatus(sim, "recover")?.phase === "Running";

function nodesOf(sim: OperatorSimulation): string[] {
  const nodes = AWAY.map((name) => {
    const server = sim.env.pods.server(name);
    return (server && sim.env.pods.nodeOf(server)) ?? assert.fail(`${name} does not run`);
  });
  return [...new Set(nodes)].toSorted();
}

async function until(sim: OperatorSimulation, what: string, holds: () => boolean, ms = 1_000): Promise<void> {
  const before = sim.env.scheduler.now;
  while (!holds()) {
    assert.ok(
      sim.env.scheduler.now - before < 15 * MINUTE,
      `${what}\n${statusOf(sim)?.message}\n${outcomes(sim)}`,
    );
    await sim.pass(ms);
  }
}

interface World {
  readonly sim: OperatorSimulation;
  readonly nodes: readonly string[];
  readonly plan: string;
}

/**
 * Two of three members are on nodes that are switched off, or only cut off from everything else. With some seeds they
 * share a node, and are a quorum there as long as that runs.
 */
async function away(
  how: "off" | "cut",
  seed: number,
  effects?: EffectPlan,
  before?: (s: OperatorSimulation) => void,
) {
  const sim = new OperatorSimulation(SPEC, { seed, ...(effects && { effects }) });
  before?.(sim);
  await sim.settle();
  await sim.pass(20_000);
  const nodes = nodesOf(sim);
  const survivor = sim.env.pods.server("demo-1") ?? assert.fail("demo-1 does not run");
  assert.ok(!nodes.includes(sim.env.pods.nodeOf(survivor) ?? ""), "a seed that places demo-1 apart");
  sim.harm();
  for (const node of nodes)
    if (how === "off") sim.env.nodes.crash(node);
    else sim.env.cutNode(node);
  await sim.pass(MINUTE);
  markNotReady(sim, nodes);
  await sim.pass(2 * MINUTE);
  assert.equal(statusOf(sim)?.recovery, undefined, "they may come back");
  await until(sim, "there is a plan", () => statusOf(sim)?.recovery !== undefined);
  return { sim, nodes, plan: statusOf(sim)?.recovery?.plan ?? "" } satisfies World;
}

/** What the control plane does with Pods of a node that it counts as lost, which the model's does not. */
function markNotReady({ env }: OperatorSimulation, nodes: readonly string[]): void {
  const hand = new Hand(env.server, "kube-controller-manager");
  for (const { metadata } of nodes.flatMap((node) => env.nodes.podsOn(node)))
    hand.changeStatus(pods, `${metadata.namespace}/${metadata.name}`, ({ status }) => {
      const before = json(status)["conditions"];
      const conditions = withCondition(
        before,
        { type: "Ready", status: "False" },
        env.server.surroundings.now(),
      );
      return { ...json(status), conditions };
    });
}

function approve({ sim, plan, nodes }: World, nodesOff: readonly string[] = nodes, name = "recover"): void {
  ask(sim, name, { recoverQuorum: { approve: plan, ...(nodesOff.length > 0 && { nodesOff }) } });
}

const ended = (sim: OperatorSimulation, name = "recover") =>
  until(sim, `${name} ends`, () => operationStatus(sim, name)?.completedAt !== undefined);

function comeBack({ sim, nodes }: World): void {
  for (const node of nodes) {
    sim.env.nodes.boot(node);
    sim.env.healNode(node);
  }
}

/** All members that run are of one cluster, and everything is as it should be. */
async function isOneCluster(sim: OperatorSimulation): Promise<void> {
  await sim.settle();
  assert.equal(sim.converged, true, sim.whyNot());
  assert.deepEqual(wrongWith(sim), []);
  const running = sim.env.world.network.all().filter(({ runs }) => runs);
  assert.equal(new Set(running.map(({ dir }) => dir.clusterID)).size, 1);
  assert.equal(running.length, 3);
  assert.deepEqual(helpers(sim), []);
}

test("two nodes are off for good: the plan names them, and the approval that does so brings back what the survivor had", async () => {
  const world = await away("off", 1);
  const { sim, nodes } = world;
  const { recovery } = statusOf(sim) ?? {};
  assert.deepEqual(
    recovery?.nodesOff?.map(({ name }) => name),
    nodes,
  );
  assert.deepEqual(
    recovery?.members.map(({ data }) => data),
    ["Found", "Unreachable", "Unreachable"],
  );
  approve(world, [], "unnamed");
  await ended(sim, "unnamed");
  approve(world, nodes.slice(0, 1), "one");
  await ended(sim, "one");
  assert.equal(sim.env.recovery.forced, 0);
  approve(world);
  await ended(sim);
  assert.deepEqual(sim.operations.outcomes().toSorted(), [
    "one Rejected NodesDiffer",
    "recover Succeeded Completed",
    "unnamed Rejected NodesDiffer",
  ]);
  assert.equal(sim.env.recovery.forced, 1);
  const said =
    operationStatus(sim, "recover")
      ?.steps?.map(({ message }) => message)
      .join("\n") ?? "";
  assert.match(`${said}\n${sim.lines.join("\n")}`, /were said to be off in the approval/);
  // Long after, somebody mends the machines.
  await sim.pass(10 * MINUTE);
  comeBack(world);
  await isOneCluster(sim);
  await staysQuiet(sim);
});

test("the person was wrong, and a node comes back in the midst of it: it ends, and all members serve with all data", async () => {
  for (const [seed, when] of [
    [2, "started"],
    [12, "rescued"],
  ] as const) {
    const world = await away("cut", seed);
    const { sim } = world;
    approve(world);
    await until(sim, "it runs", () => isRunning(sim), 100);
    if (when === "rescued")
      await until(
        sim,
        "the rescue begins",
        () => helpers(sim).some(({ metadata }) => metadata.name.endsWith("-rescue")),
        100,
      );
    comeBack(world);
    await ended(sim);
    // Or its Pods have ended before it is seen to report, and what they left was read.
    assert.match(outcomes(sim), /^recover Failed (NodeReports|QuorumNotLost|PlanChanged)$/, when);
    await isOneCluster(sim);
    assert.deepEqual(
      sim.env.members().map(({ metadata }) => metadata.name),
      ["demo-1", "demo-2", "demo-3"],
      when,
    );
  }
});

test("the person was wrong, and the nodes come back after the new life began: the former members end and are no quorum of it", async () => {
  for (const [seed, when] of [
    [13, "begun"],
    [14, "done"],
  ] as const) {
    const world = await away("cut", seed);
    const { sim } = world;
    const former = sim.env.established();
    approve(world);
    await until(sim, "the new life begins", () => sim.env.established() !== former, 100);
    if (when === "done") await ended(sim);
    const still = AWAY.map((name) => sim.env.pods.server(name));
    comeBack(world);
    await ended(sim);
    assert.equal(outcomes(sim), "recover Succeeded Completed", when);
    await isOneCluster(sim);
    assert.ok(
      still.every((server) => server?.runs !== true),
      "their kubelets ended them",
    );
  }
});

test("a node that is heard between the plan and the approval is not off", async () => {
  const world = await away("cut", 15);
  const { sim } = world;
  comeBack(world);
  approve(world);
  await ended(sim);
  assert.match(outcomes(sim), /^recover Rejected (NodeReports|PlanChanged|QuorumNotLost|NodesDiffer)$/);
  assert.equal(sim.env.recovery.forced, 0);
  await isOneCluster(sim);
});

/** demo-2 is on a node that is off, and demo-3 has lost its data on one that reports. */
async function oneAway(seed: number) {
  const sim = new OperatorSimulation(SPEC, { seed });
  await sim.settle();
  await sim.pass(20_000);
  const [second = "", third = ""] = AWAY.map((name) => {
    const server = sim.env.pods.server(name);
    return server && sim.env.pods.nodeOf(server);
  });
  assert.notEqual(second, third, "a seed that places them apart");
  sim.harm();
  sim.env.nodes.crash(second);
  const emptied = sim.env.pods.server("demo-3") ?? assert.fail("demo-3 does not run");
  sim.env.world.signal(emptied, "SIGKILL");
  sim.env.disks.wipe(sim.env.diskOf("demo-3") ?? "");
  await until(sim, "there is a plan", () => statusOf(sim)?.recovery !== undefined);
  assert.deepEqual(
    statusOf(sim)?.recovery?.nodesOff?.map(({ name }) => name),
    [second],
  );
  return { sim, nodes: [second], third, plan: statusOf(sim)?.recovery?.plan ?? "" };
}

test("what was read before another node fell silent is another plan, whatever is said of that node", async () => {
  const { third, ...world } = await oneAway(13);
  const { sim, nodes, plan } = world;
  sim.env.nodes.crash(third);
  await until(sim, "it is another plan", () => statusOf(sim)?.recovery?.nodesOff?.length === 2);
  approve(world, [...nodes, third], "old");
  await ended(sim, "old");
  assert.equal(outcomes(sim), "old Rejected PlanChanged");
  assert.notEqual(statusOf(sim)?.recovery?.plan, plan);
  assert.equal(sim.env.recovery.forced, 0);
});

test("a node that falls silent after the approval was not meant: what is there is awaited", async () => {
  const { third, ...world } = await oneAway(11);
  const { sim } = world;
  approve(world);
  sim.env.nodes.crash(third);
  await sim.pass(8 * MINUTE);
  assert.ok(isRunning(sim), outcomes(sim));
  assert.equal(sim.env.recovery.forced, 0);
  const hold = sim.latest?.decision.holds.find(({ code }) => code === "RecoveryAwaitsNode");
  assert.match(hold?.message ?? "", new RegExp(`waits for demo-3 to stop, and ${third} does not answer`));
  sim.env.nodes.boot(third);
  await ended(sim);
  assert.equal(outcomes(sim), "recover Succeeded Completed");
  comeBack(world);
  await isOneCluster(sim);
});

test("the operator may be killed after any effect of such a recovery (a few of them here)", async () => {
  const first = await away("off", 20);
  const from = first.sim.effects.count;
  approve(first);
  await ended(first.sim);
  const effects = first.sim.effects.count - from;
  assert.ok(effects > 15, `${effects}`);
  for (let nth = 3; nth <= effects; nth += 40) {
    const world = await away("off", 20, new Map([[from + nth, "crash-after"]]));
    approve(world);
    await ended(world.sim);
    assert.equal(outcomes(world.sim), "recover Succeeded Completed", `effect ${nth}`);
    comeBack(world);
    await isOneCluster(world.sim);
  }
});

test("where Nodes may not be read, the readiness of the Pods tells which nodes are silent", async () => {
  const response = refusal(403, "Forbidden", "nodes is forbidden");
  const isOfNodes = (_who: string, { path }: { readonly path: string }) => path.endsWith("/nodes");
  const world = await away("off", 22, undefined, ({ env }) =>
    env.front.faults.plan({ kind: "answer", done: false, response }, isOfNodes, Number.POSITIVE_INFINITY),
  );
  const { sim, nodes } = world;
  assert.deepEqual(
    statusOf(sim)?.recovery?.nodesOff?.map(({ name }) => name),
    nodes,
  );
  approve(world);
  await ended(sim);
  assert.equal(outcomes(sim), "recover Succeeded Completed");
  comeBack(world);
  await isOneCluster(sim);
});
