/**
 * An operator that alone cannot reach etcd (H16): a network policy, say, stands between it and the members, which serve
 * their clients and each other. It holds, says so, and goes on when it sees again.
 */
import assert from "node:assert/strict";
import { test } from "node:test";
import { pods as podKind } from "../models/kube/kinds/pod.ts";
import { API_VERSION } from "../../src/api/metadata.ts";
import { NAME, NAMESPACE } from "./environment.ts";
import { OperatorSimulation } from "./simulation.ts";

const THREE = { replicas: 3, version: "3.6.16" } as const;
const BAD = { options: { extraArgs: { "tls-min-version": "bogus" } } };

async function serving(seed = 1): Promise<OperatorSimulation> {
  const sim = new OperatorSimulation(THREE, { seed });
  await sim.settle();
  return sim;
}

const truth = (sim: OperatorSimulation) => {
  const { healthy, voters } = sim.oracle.truth();
  return `${healthy.size} of ${voters}`;
};
const podUIDs = (sim: OperatorSimulation) => sim.env.server.list(podKind).map(({ metadata }) => metadata.uid);
const reported = (sim: OperatorSimulation, type: string) => {
  const found = sim.cluster?.status?.conditions?.find((one) => one.type === type);
  return `${found?.status}/${found?.reason}`;
};
const approve = (sim: OperatorSimulation, what: string) =>
  sim.user({
    method: "PATCH",
    path: `/apis/${API_VERSION}/namespaces/${NAMESPACE}/etcdclusters/${NAME}`,
    body: { metadata: { annotations: { "etcd.quorate.dev/approve": what } } },
    contentType: "application/merge-patch+json",
  });

test("without a way to any member, it says that it does not know, and restarts no member for an edit", async () => {
  const sim = await serving();
  const [before, steps] = [podUIDs(sim), sim.steps];
  sim.env.unreachable = "all";
  await sim.pass(30_000);
  for (const type of ["Quorate", "Available", "Degraded"])
    assert.equal(reported(sim, type), "Unknown/EtcdUnreachable");
  const message = sim.cluster?.status?.conditions?.find(({ type }) => type === "Quorate")?.message ?? "";
  assert.match(message, /cannot reach etcd on demo-1, demo-2, demo-3/);
  assert.match(message, /NetworkPolicy/);
  assert.equal(sim.cluster?.status?.readyReplicas, 3);

  await sim.pass(200_000);
  assert.equal(sim.edit({ options: { snapshotCount: 20_000 } }), true);
  await sim.pass(200_000);
  assert.equal(sim.steps, steps, "nothing was done while it could not see");
  assert.deepEqual(podUIDs(sim), before);
  assert.equal(truth(sim), "3 of 3");

  sim.env.unreachable = new Set();
  await sim.settle();
  assert.equal(sim.converged, true, sim.whyNot());
  assert.equal(truth(sim), "3 of 3");
  assert.ok(
    podUIDs(sim).every((uid) => !before.includes(uid)),
    "the edit is rolled out now",
  );
});

test("a bad edit while etcd is unreachable reaches no member; reached again, one member tries it and takes it back", async () => {
  const sim = await serving();
  const before = podUIDs(sim);
  sim.env.unreachable = "all";
  await sim.pass(150_000);
  sim.edit(BAD);
  await sim.pass(300_000);
  assert.deepEqual(podUIDs(sim), before);

  sim.env.unreachable = new Set();
  await sim.settle();
  assert.deepEqual(
    sim.latest?.decision.holds.map(({ reason }) => reason),
    ["TargetFailed"],
  );
  assert.equal(truth(sim), "3 of 3");
  assert.equal(podUIDs(sim).filter((uid) => before.includes(uid)).length, 2, "only the canary restarted");
});

test("a rollout stops where the operator can no longer reach etcd", async () => {
  const sim = await serving(5);
  sim.edit({ options: { snapshotCount: 20_000 } });
  while (!sim.lines.some((line) => line.includes("StopWorkload"))) await sim.pass(10);
  sim.env.unreachable = "all";
  await sim.pass(30_000);
  const stopped = sim.lines.filter((line) => line.includes("StopWorkload")).length;
  await sim.pass(300_000);
  assert.equal(sim.lines.filter((line) => line.includes("StopWorkload")).length, stopped);
  assert.equal(truth(sim), "3 of 3");
  sim.env.unreachable = new Set();
  await sim.settle();
  assert.equal(sim.converged, true, sim.whyNot());
});

test("without a way to one member, it keeps it for as long as its peers see it, and says how to replace it anyway", async () => {
  const sim = await serving();
  const steps = sim.steps;
  sim.env.unreachable = new Set(["demo-3"]);
  await sim.pass(420_000);
  assert.equal(sim.steps, steps);
  assert.equal(reported(sim, "Degraded"), "Unknown/MemberUnreachable");
  assert.equal(reported(sim, "Quorate"), "True/Quorum");
  const hold = sim.latest?.decision.holds.find(({ reason }) => reason === "MemberUnreachable");
  assert.match(hold?.message ?? "", /its etcd container is ready and its peers are connected to it/);
  assert.match(hold?.next ?? "", /approve=replace-demo-3/);

  approve(sim, "replace-demo-3");
  await sim.settle();
  assert.equal(sim.converged, true, sim.whyNot());
  assert.deepEqual(
    sim.env.members().map(({ metadata }) => metadata.name),
    ["demo-1", "demo-2", "demo-4"],
  );
  assert.equal(truth(sim), "3 of 3");
});

test("one that it does not see and that is lost then is replaced after its time, counted from then", async () => {
  const sim = await serving();
  sim.env.unreachable = new Set(["demo-3"]);
  await sim.pass(200_000);
  const server = sim.env.pods.server("demo-3");
  assert.ok(server);
  sim.harm();
  sim.env.cutNode(sim.env.pods.nodeOf(server) ?? "");
  const names = () => sim.env.members().map(({ metadata }) => metadata.name);
  await sim.pass(280_000);
  assert.deepEqual(names(), ["demo-1", "demo-2", "demo-3"]);
  await sim.pass(120_000);
  assert.ok(!names().includes("demo-3"), "its Pod is not Ready any more, and its peers lost it");
  assert.equal(truth(sim), "3 of 3");
});

test("without a way to etcd from the first day, it says so instead of waiting for members that serve", async () => {
  const sim = new OperatorSimulation(THREE, { seed: 1 });
  sim.env.unreachable = "all";
  await sim.pass(60_000);
  assert.equal(reported(sim, "Available"), "Unknown/EtcdUnreachable");
  const before = podUIDs(sim);
  sim.edit({ options: { snapshotCount: 20_000 } });
  await sim.pass(200_000);
  assert.deepEqual(podUIDs(sim), before);
  sim.env.unreachable = new Set();
  await sim.settle();
  assert.equal(sim.converged, true, sim.whyNot());
});

test("what hides a quorum can be overridden for one member at a time", async () => {
  const sim = await serving();
  const before = podUIDs(sim);
  sim.env.unreachable = "all";
  await sim.pass(150_000);
  sim.edit({ options: { snapshotCount: 20_000 } });
  await sim.pass(10_000);
  approve(sim, "restart-demo-2");
  await sim.pass(60_000);
  assert.equal(podUIDs(sim).filter((uid) => before.includes(uid)).length, 2, "one restarted, with the edit");
  assert.equal(truth(sim), "3 of 3");
});

test("an approval does not count for a member that was out of reach for a moment only", async () => {
  const sim = await serving();
  approve(sim, "replace-demo-3");
  sim.env.unreachable = new Set(["demo-3"]);
  await sim.pass(60_000);
  sim.env.unreachable = new Set();
  await sim.settle();
  assert.deepEqual(
    sim.env.members().map(({ metadata }) => metadata.name),
    ["demo-1", "demo-2", "demo-3"],
  );
  assert.equal(truth(sim), "3 of 3");
});
