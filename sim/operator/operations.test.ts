/** EtcdOperations on the real operator: each kind, its end, and what becomes of those that no cluster can carry out. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { EtcdOperation } from "../../src/api/etcd-operation.ts";
import { API_VERSION } from "../../src/api/metadata.ts";
import { OPERATIONS } from "../../src/api/status-words.ts";
import { refusal } from "../models/kube/refusal.ts";
import { etcdOperations, NAME, NAMESPACE } from "./environment.ts";
import { staysQuiet, wrongWith } from "./judge.ts";
import { Moves } from "./moves.ts";
import { OperatorSimulation } from "./simulation.ts";

/** Nobody there has to load new certificates. */
const SPEC = { replicas: 3, version: "3.6.16", tls: { rotation: { soak: "5s" } } };
const PATH = `/apis/${API_VERSION}/namespaces/${NAMESPACE}/etcdoperations`;

function operationsOf({ env }: OperatorSimulation): EtcdOperation[] {
  return env.server.list(etcdOperations) as unknown as EtcdOperation[];
}

function ask(sim: OperatorSimulation, name: string, spec: object): void {
  const metadata = { name, namespace: NAMESPACE };
  const body = { apiVersion: API_VERSION, kind: "EtcdOperation", metadata, spec: { cluster: NAME, ...spec } };
  assert.equal(sim.user({ method: "POST", path: PATH, body }).status, 201);
  sim.operations.asked(name, sim.converged);
}

const told = (sim: OperatorSimulation) => sim.operations.outcomes();

test("each kind of operation succeeds on a healthy cluster, one after the other, and the cluster rests again", async () => {
  const sim = new OperatorSimulation(SPEC, { seed: 11 });
  const moves = new Moves(sim);
  await sim.settle();
  // With quorum there is nothing to recover, and nothing is restored in place here: these are rejected.
  const tasks = OPERATIONS.filter((task) => task !== "recoverQuorum" && task !== "restore");
  for (const task of tasks) moves.perform({ do: "operate", task, pick: 0, all: task !== "moveLeader" });
  await sim.settle();
  const ended = told(sim);
  assert.equal(ended.length, tasks.length);
  assert.ok(
    ended.every((one) => one.includes(" Succeeded ")),
    ended.join("\n"),
  );
  assert.deepEqual(wrongWith(sim), []);
  for (const { metadata, status } of operationsOf(sim)) {
    assert.equal(metadata.ownerReferences?.[0]?.uid, sim.cluster?.metadata.uid, metadata.name);
    assert.equal(status?.conditions?.find(({ type }) => type === "Ready")?.status, "True");
  }
  await staysQuiet(sim);
});

test("a restart restarts every member once, however often the operator dies", async () => {
  const sim = new OperatorSimulation(SPEC, { seed: 12, operators: 2 });
  await sim.settle();
  ask(sim, "again", { restart: {} });
  for (let deaths = 0; deaths < 12; deaths++) {
    await sim.pass(700 + 450 * deaths);
    for (const { life } of sim.seats.slice(0, 1)) life.cut("killed");
  }
  await sim.settle();
  // The oracle counts the Pods of each member.
  assert.deepEqual(told(sim), ["again Succeeded Completed"]);
  assert.deepEqual(wrongWith(sim), []);
});

test("a wrong target is rejected with the reason, and changes nothing", async () => {
  const sim = new OperatorSimulation(SPEC, { seed: 13 });
  await sim.settle();
  const { steps } = sim;
  ask(sim, "wrong", { replaceMember: { name: "demo-9" } });
  await sim.settle();
  assert.deepEqual(told(sim), ["wrong Rejected UnknownMember"]);
  assert.ok(sim.steps - steps <= 2, sim.lines.join("\n"));
});

test("an operation on a cluster that does not exist waits for it, and is rejected and deleted in time", async () => {
  const sim = new OperatorSimulation(SPEC, { seed: 14 });
  await sim.settle();
  ask(sim, "early", { cluster: "elsewhere", restart: {}, ttlSecondsAfterFinished: 60 });
  await sim.pass(5_000);
  assert.deepEqual(told(sim), ["early Pending ClusterNotFound"]);
  await sim.pass(600_000);
  assert.deepEqual(told(sim), ["early Rejected ClusterNotFound"]);
  await sim.pass(70_000);
  assert.deepEqual(told(sim), []);
});

test("an operation that is created before its cluster runs when the cluster is there", async () => {
  const sim = new OperatorSimulation(SPEC, { seed: 15 });
  // The cluster has no member so far.
  ask(sim, "first", { collectReport: {} });
  ask(sim, "second", { restart: {} });
  await sim.settle();
  assert.deepEqual(told(sim), ["first Succeeded Completed", "second Succeeded Completed"]);
});

test("the operations of a cluster are deleted with it", async () => {
  const sim = new OperatorSimulation(SPEC, { seed: 16 });
  await sim.settle();
  ask(sim, "done", { collectReport: {} });
  await sim.settle();
  sim.edit({ paused: true });
  // Watches of two kinds are not in step: the pause has to be seen first.
  await sim.pass(5_000);
  ask(sim, "waiting", { restart: {} });
  await sim.settle();
  assert.equal(
    operationsOf(sim).find(({ metadata }) => metadata.name === "waiting")?.status?.phase,
    "Pending",
  );
  sim.deleteCluster();
  await sim.settle();
  await sim.pass(30_000);
  assert.ok(sim.isGone);
  assert.deepEqual(told(sim), []);
});

test("where the API server does not serve operations yet, clusters work, and operations do as soon as it does", async () => {
  const sim = new OperatorSimulation(SPEC, { seed: 17 });
  const { faults } = sim.env.front;
  const response = refusal(404, "NotFound", "the server could not find the requested resource");
  faults.plan(
    { kind: "answer", done: false, response },
    (_, { path }) => path.includes("/etcdoperations"),
    Infinity,
  );
  await sim.settle();
  assert.equal(sim.converged, true, sim.whyNot());
  ask(sim, "later", { restart: { members: ["demo-1"] } });
  await sim.pass(60_000);
  assert.deepEqual(told(sim), ["later undefined undefined"]);
  faults.clear();
  await sim.pass(30_000);
  await sim.settle();
  assert.deepEqual(told(sim), ["later Succeeded Completed"]);
});

test("while the status of an operation cannot be written the cluster is scaled, and the operation runs once it can", async () => {
  const sim = new OperatorSimulation(SPEC, { seed: 17 });
  const { faults } = sim.env.front;
  await sim.settle();
  const response = refusal(403, "Forbidden", "etcdoperations.etcd.quorate.dev is forbidden");
  faults.plan(
    { kind: "answer", done: false, response },
    (_, { method, path }) => method === "PATCH" && path.includes("/etcdoperations"),
    Infinity,
  );
  ask(sim, "unrecorded", { restart: { members: ["demo-1"] } });
  await sim.pass(10_000);
  sim.edit({ replicas: 5 });
  await sim.pass(60_000);
  assert.equal(sim.env.members().length, 5);
  assert.ok(sim.latest?.decision.holds.some(({ reason }) => reason === "OperationUnrecorded"));
  faults.clear();
  await sim.pass(90_000);
  await sim.settle();
  assert.deepEqual(told(sim), ["unrecorded Succeeded Completed"]);
});
