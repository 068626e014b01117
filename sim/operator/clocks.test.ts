/** The operator on a machine whose clock is wrong, or is set while it works. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Pass } from "../../src/control/loop.ts";
import { API_VERSION } from "../../src/api/metadata.ts";
import { pods as podKind } from "../models/kube/kinds/pod.ts";
import { items, json, timestamp } from "../models/kube/object.ts";
import { secrets as secretKind } from "../models/kube/kinds/simple.ts";
import { etcdOperations, NAME, NAMESPACE } from "./environment.ts";
import { wrongWith } from "./judge.ts";
import { OperatorSimulation } from "./simulation.ts";

const THREE = { replicas: 3, version: "3.6.16" } as const;
const TEN_MINUTES = 600_000;

function setClock(sim: OperatorSimulation, aheadMs: number): void {
  for (const { life } of sim.seats) life.aheadMs = aheadMs;
}

async function secondsToConverge(sim: OperatorSimulation): Promise<number> {
  const began = sim.env.scheduler.now;
  do await sim.pass(1_000);
  while (!sim.converged && sim.env.scheduler.now - began < 1_800_000);
  return (sim.env.scheduler.now - began) / 1_000;
}

test("a rollout takes as long with a clock ten minutes ahead or behind as with the right one", async () => {
  const took: number[] = [];
  for (const aheadMs of [0, TEN_MINUTES, -TEN_MINUTES]) {
    const sim = new OperatorSimulation(THREE, { seed: 1 });
    await sim.settle();
    setClock(sim, aheadMs);
    await sim.pass(30_000);
    sim.edit({ options: { snapshotCount: 20_000 } });
    took.push(await secondsToConverge(sim));
    assert.deepEqual(wrongWith(sim), []);
  }
  const [right = 0, ...wrong] = took;
  assert.ok(right < 30, `it took ${right} s`);
  for (const seconds of wrong) assert.ok(Math.abs(seconds - right) <= 2, `${took.join(", ")} s`);
});

test("a clock that is set while a step waits for its next try does not make it wait longer", async () => {
  for (const aheadMs of [-TEN_MINUTES, TEN_MINUTES]) {
    let failing: Pass["failure"];
    const onPass = ({ failure }: Pass) => (failing = failure);
    const sim = new OperatorSimulation({ replicas: 3, version: "3.5.26" }, { seed: 1, onPass });
    await sim.settle();
    sim.edit({ replicas: 5 });
    for (let tries = 0; tries < 400 && failing === undefined; tries++) await sim.pass(50);
    assert.ok(failing, "no step failed");
    setClock(sim, aheadMs);
    const seconds = await secondsToConverge(sim);
    assert.ok(seconds < 60, `it took ${seconds} s`);
  }
});

test("a cluster that is created by an operator whose clock is ten minutes ahead boots as fast as any", async () => {
  const took: number[] = [];
  for (const aheadMs of [0, TEN_MINUTES]) {
    const sim = new OperatorSimulation(THREE, { seed: 1 });
    setClock(sim, aheadMs);
    took.push(await secondsToConverge(sim));
    assert.deepEqual(wrongWith(sim), []);
  }
  const [right = 0, ahead = 0] = took;
  assert.ok(Math.abs(ahead - right) <= 2, `${took.join(", ")} s`);
});

for (const aheadMs of [7_200_000, -7_200_000])
  test(`finished operations are deleted in their time by a clock that jumps ${aheadMs / 3_600_000} h`, async () => {
    const sim = new OperatorSimulation(THREE, { seed: 6 });
    await sim.settle();
    const ask = (name: string, cluster: string) => {
      const metadata = { name, namespace: NAMESPACE };
      const spec = { cluster, collectReport: {}, ttlSecondsAfterFinished: 60 };
      const body = { apiVersion: API_VERSION, kind: "EtcdOperation", metadata, spec };
      const path = `/apis/${API_VERSION}/namespaces/${NAMESPACE}/etcdoperations`;
      assert.equal(sim.user({ method: "POST", path, body }).status, 201);
    };
    const named = () => sim.env.server.list(etcdOperations).map(({ metadata }) => metadata.name);
    ask("mine", NAME);
    // Nobody's worker deletes this one.
    ask("stray", "elsewhere");
    setClock(sim, aheadMs);
    await sim.pass(605_000);
    assert.deepEqual(named(), ["stray"]);
    ask("second", NAME);
    await sim.pass(30_000);
    setClock(sim, 0);
    await sim.pass(10_000);
    assert.deepEqual(named(), ["second", "stray"]);
    await sim.pass(30_000);
    assert.deepEqual(named(), []);
  });

const DAY = 86_400_000;
const conditionOf = (sim: OperatorSimulation, wanted: string) =>
  sim.cluster?.status?.conditions?.find(({ type }) => type === wanted);

test("no certificate is issued by a clock that contradicts the API server's; that is reported, and ends by itself", async () => {
  const sim = new OperatorSimulation(THREE, { seed: 1 });
  setClock(sim, 2 * 3_600_000);
  await sim.pass(60_000);
  assert.equal(sim.env.server.list(podKind).length, 0);
  assert.match(
    conditionOf(sim, "TLSReady")?.message ?? "",
    /clock is more than 1 h ahead of the API server's/,
  );
  assert.equal(conditionOf(sim, "TLSReady")?.reason, "CertificateProblem");
  assert.deepEqual(
    sim.cluster?.status?.warnings?.filter((warning) => warning.includes("clock")).length,
    1,
    "told as a warning too",
  );
  setClock(sim, 0);
  assert.ok((await secondsToConverge(sim)) < 60);
  await sim.settle();
  assert.deepEqual(wrongWith(sim), []);
  assert.equal(sim.cluster?.status?.warnings, undefined);
});

test("a clock a hundred days ahead renews nothing of a cluster that runs, and only newcomers wait for it", async () => {
  const sim = new OperatorSimulation(THREE, { seed: 2 });
  await sim.settle();
  const leaves = () => sim.env.server.list(secretKind).map(({ metadata, data }) => [metadata.name, data]);
  const before = leaves();
  setClock(sim, 100 * DAY);
  await sim.pass(120_000);
  assert.deepEqual(leaves(), before);
  assert.equal(conditionOf(sim, "TLSReady")?.status, "True");
  sim.edit({ replicas: 5 });
  await sim.pass(60_000);
  assert.equal(sim.oracle.truth().voters, 3, "nobody is added to etcd who could get no certificate");
  assert.equal(sim.env.members().length, 3);
  const { reason, message = "" } = conditionOf(sim, "Ready") ?? {};
  assert.equal(reason, "CertificateNotIssued");
  assert.match(message, /clock is more than 1 h ahead of the API server's/);
  assert.doesNotMatch(JSON.stringify(sim.cluster?.status), /backup/);
  assert.equal(conditionOf(sim, "Available")?.status, "True");
  setClock(sim, 0);
  assert.ok((await secondsToConverge(sim)) < 120);
  assert.deepEqual(wrongWith(sim), []);
});

for (const aheadMs of [TEN_MINUTES, -TEN_MINUTES])
  test(`a member that is down is replaced neither earlier nor later by a clock that jumps ${aheadMs / 60_000} min`, async () => {
    const sim = new OperatorSimulation(THREE, { seed: 3 });
    await sim.settle();
    const server = sim.env.pods.server("demo-3");
    assert.ok(server);
    sim.harm();
    sim.env.cutNode(sim.env.pods.nodeOf(server) ?? "");
    await sim.pass(20_000);
    setClock(sim, aheadMs);
    const names = () => sim.env.members().map(({ metadata }) => metadata.name);
    await sim.pass(260_000);
    assert.deepEqual(names(), ["demo-1", "demo-2", "demo-3"]);
    await sim.pass(60_000);
    assert.ok(names().includes("demo-4"), sim.whyNot());
  });

const warnings = (sim: OperatorSimulation) => sim.cluster?.status?.warnings ?? [];

test("a node whose clock is off is reported by what its heartbeats say, and no more once it is right", async () => {
  const sim = new OperatorSimulation(THREE, { seed: 4 });
  await sim.settle();
  const node = sim.env.pods.nodeOf(sim.env.pods.server("demo-2") ?? assert.fail("demo-2 runs")) ?? "";
  sim.env.nodes.clocks.set(node, -90_000);
  await sim.pass(60_000);
  await sim.settle();
  const [warning = "", ...others] = warnings(sim);
  assert.deepEqual(others, []);
  assert.match(warning, new RegExp(`The clock of node ${node} is more than 30 s behind the API server's`));
  sim.env.nodes.clocks.set(node, 0);
  await sim.pass(60_000);
  await sim.settle();
  assert.deepEqual(warnings(sim), []);
  assert.deepEqual(wrongWith(sim), []);
});

test("an operator that may not read Nodes learns of such a clock from the members on it", async () => {
  const sim = new OperatorSimulation(THREE, { seed: 4, nodesForbidden: true });
  await sim.settle();
  const node = sim.env.pods.nodeOf(sim.env.pods.server("demo-2") ?? assert.fail("demo-2 runs")) ?? "";
  sim.env.nodes.clocks.set(node, 90_000);
  // They are asked every five minutes.
  await sim.pass(400_000);
  assert.match(warnings(sim).join(), new RegExp(`node ${node} is more than 30 s ahead of the API server's`));
  sim.env.nodes.clocks.set(node, 0);
  await sim.pass(400_000);
  assert.deepEqual(warnings(sim), []);
  assert.deepEqual(wrongWith(sim), []);
});

test("by a node clock two hours behind, certificates made since are refused there, until it is right", async () => {
  const sim = new OperatorSimulation({ ...THREE, replicas: 1 }, { seed: 4 });
  await sim.settle();
  const node = sim.env.pods.nodeOf(sim.env.pods.server("demo-1") ?? assert.fail("demo-1 runs")) ?? "";
  sim.env.nodes.clocks.set(node, -2 * 3_600_000);
  sim.edit({ replicas: 2 });
  await sim.pass(90_000);
  assert.equal(sim.oracle.truth().voters, 1);
  assert.match(warnings(sim).join(), /more than 1 h behind/);
  sim.env.nodes.clocks.set(node, 0);
  await sim.settle();
  assert.equal(sim.oracle.truth().voters, 2);
  assert.deepEqual(wrongWith(sim), []);
});

/** As etcd ends that finds neither data nor its peers. */
const NO_PEERS = JSON.stringify({
  level: "error",
  msg: "bootstrap failed",
  error: "cannot fetch cluster info from peer urls",
});

for (const aheadMs of [-60_000, 0, 60_000])
  test(`the end of a newcomer's first start, told after it joined, is not lost data by a node clock ${aheadMs / 1000} s ahead`, async () => {
    const sim = new OperatorSimulation({ ...THREE, replicas: 1 }, { seed: 5, nodesForbidden: true });
    const { env } = sim;
    await sim.settle();
    for (const node of env.nodes.names) env.nodes.clocks.set(node, aheadMs);
    sim.edit({ replicas: 2 });
    const isJoined = () =>
      json(env.members().find(({ metadata }) => metadata.name === "demo-2")?.["spec"])["joined"] === true;
    for (let tries = 0; tries < 6_000 && !isJoined(); tries++) await sim.pass(10);
    assert.ok(isJoined(), sim.lines.join("\n"));
    // What its kubelet tells now is of the run before, and it takes a moment to tell of this one.
    const path = `/api/v1/namespaces/${NAMESPACE}/pods/demo-2/status`;
    const { status, spec } = json(env.server.get(podKind, `${NAMESPACE}/demo-2`));
    const [etcd] = items(json(status)["containerStatuses"]);
    const node = String(json(spec)["nodeName"]);
    const finishedAt = timestamp(env.nodes.clocks.now(node) - 2_000);
    const terminated = { exitCode: 1, reason: "Error", message: NO_PEERS, finishedAt };
    env.nodes.cut(node);
    const containerStatuses = [{ ...etcd, ready: false, state: { terminated } }];
    const body = { status: { containerStatuses } };
    assert.equal(
      sim.user({ method: "PATCH", path, body, contentType: "application/merge-patch+json" }).status,
      200,
    );
    await sim.pass(2_000);
    env.nodes.heal(node);
    await sim.settle();
    assert.deepEqual(
      env.members().map(({ metadata }) => metadata.name),
      ["demo-1", "demo-2"],
    );
    assert.deepEqual(wrongWith(sim), []);
  });
