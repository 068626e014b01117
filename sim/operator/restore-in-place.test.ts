/** Restores in place by the whole operator on modelled nodes. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { API_VERSION } from "../../src/api/metadata.ts";
import { ANNOTATIONS } from "../../src/operator/names.ts";
import { lacksRestored, RESTORED_KEYS } from "../models/etcd/restored.ts";
import { claims } from "../models/kube/kinds/claim.ts";
import { pods } from "../models/kube/kinds/pod.ts";
import {
  approveRestore,
  ask,
  helpers,
  OPERATIONS,
  operationStatus,
  restorePlan,
  SOURCE,
} from "./approved.ts";
import type { EffectPlan } from "./effects.ts";
import { etcdSnapshots, NAME, NAMESPACE } from "./environment.ts";
import { staysQuiet, wrongWith } from "./judge.ts";
import { OperatorSimulation } from "./simulation.ts";

const SPEC = { replicas: 3, version: "3.6.16" };
/** One of so many: `npm run sim:enumerate` takes all of them. */
const EVERY = 20;

async function running(seed: number, spec: object = {}, effects?: EffectPlan): Promise<OperatorSimulation> {
  const sim = new OperatorSimulation({ ...SPEC, ...spec }, { seed, ...(effects && { effects }) });
  await sim.settle();
  await sim.pass(10_000);
  return sim;
}

const memberPods = ({ env }: OperatorSimulation) => env.memberPods().map(({ metadata }) => metadata.uid);
const claimNames = ({ env }: OperatorSimulation) =>
  env.server.list(claims).map(({ metadata }) => metadata.name);
const leaderOf = ({ env: { world } }: OperatorSimulation) =>
  world.network.all().find((server) => server.runs && world.raftOf(server).leader === server);

async function until(sim: OperatorSimulation, what: string, is: () => boolean): Promise<void> {
  for (let i = 0; i < 6_000 && !is(); i++) await sim.pass(20);
  assert.ok(is(), `${what}\n${sim.lines.slice(-20).join("\n")}`);
}

function assertRestored(sim: OperatorSimulation, about: string): void {
  assert.deepEqual(wrongWith(sim), [], about);
  const leader = leaderOf(sim);
  assert.ok(leader, about);
  assert.equal(lacksRestored(leader.dir, RESTORED_KEYS), undefined, about);
  assert.equal(leader.dir.state.voters().length, 3, about);
  assert.deepEqual(helpers(sim), [], about);
  for (const former of ["data-demo-1", "data-demo-2", "data-demo-3"])
    assert.ok(claimNames(sim).includes(former), `${former} is kept: ${about}`);
}

test("an approved plan replaces all data; the former volumes are kept; and the volume of the snapshot goes in time", async () => {
  const sim = await running(1);
  await approveRestore(sim);
  await sim.settle();
  assert.deepEqual(sim.operations.outcomes(), ["restore Succeeded Completed"]);
  assert.equal(sim.converged, true, sim.whyNot());
  assertRestored(sim, "");
  await staysQuiet(sim);
  const snapshots = () => claimNames(sim).filter((name) => String(name).endsWith("-restore"));
  assert.equal(snapshots().length, 1, "the first member's Pod has it mounted");
  const path = `/api/v1/namespaces/${NAMESPACE}/pods/demo-4`;
  assert.equal(sim.user({ method: "DELETE", path }).status, 200);
  await sim.settle();
  assert.deepEqual(snapshots(), []);
  assertRestored(sim, "after a restart");
});

test("the operator may be killed after any effect of a restore (a few of them here)", async () => {
  const first = await running(2);
  await approveRestore(first);
  const from = first.effects.count;
  await first.settle();
  const effects = first.effects.count - from;
  assert.ok(effects > 15, `${effects}`);
  for (let nth = 1; nth <= effects; nth += EVERY) {
    const sim = await running(2, {}, new Map([[from + nth, "crash-after"]]));
    await approveRestore(sim);
    await sim.settle();
    assert.deepEqual(sim.operations.outcomes(), ["restore Succeeded Completed"], `effect ${nth}`);
    assertRestored(sim, `effect ${nth}`);
  }
});

test("a snapshot that is found to be wrong ends it before any member was stopped", async () => {
  const sim = await running(3);
  const before = memberPods(sim);
  const restore = { source: SOURCE, approve: await restorePlan(sim) };
  for (const fault of ["damaged", "checksum", "not-found", "denied", "key", "version", "space"] as const) {
    sim.env.fetches.faults.push(fault);
    ask(sim, fault, { restore });
    await until(sim, `${fault} fails`, () => operationStatus(sim, fault)?.phase === "Failed");
    const { reason, message = "" } = operationStatus(sim, fault) ?? {};
    assert.equal(reason, "StepFailed");
    assert.match(message, new RegExp(`no data was changed: the snapshot is ${fault}`));
  }
  await sim.settle();
  assert.deepEqual(memberPods(sim), before, "the same Pods run");
  assert.equal(sim.env.fetches.whole, 0);
  assert.deepEqual(helpers(sim), []);
  assert.ok(!claimNames(sim).some((name) => String(name).endsWith("-restore")));
  assert.deepEqual(wrongWith(sim), []);
});

test("a store that does not answer is asked again; when it stays away, nothing was changed", async () => {
  const sim = await running(4);
  const before = memberPods(sim);
  sim.env.fetches.faults.push("unreachable", "unreachable", "unreachable");
  await approveRestore(sim, "away");
  await sim.settle();
  assert.deepEqual(sim.operations.outcomes(), ["away Failed StepFailed"]);
  assert.deepEqual(memberPods(sim), before);
  sim.env.fetches.faults.push("unreachable");
  await approveRestore(sim, "back");
  await sim.settle();
  assert.ok(sim.operations.outcomes().includes("back Succeeded Completed"), sim.operations.outcomes().join());
  assertRestored(sim, "");
});

test("once the snapshot is on its volume the store may be gone for good", async () => {
  const sim = await running(5);
  await approveRestore(sim);
  await until(sim, "it is fetched", () => sim.env.fetches.whole === 1);
  sim.env.pods.snapshotFault = "not-found";
  await sim.settle();
  assert.deepEqual(sim.operations.outcomes(), ["restore Succeeded Completed"]);
  assertRestored(sim, "");
});

test("the Pod that fetched it may vanish while members stop: it is not fetched again, and nobody is woken", async () => {
  const sim = await running(9);
  await approveRestore(sim);
  const isNoted = () =>
    sim.env.server
      .list(claims)
      .some(({ metadata }) => metadata.annotations?.[ANNOTATIONS.fetched] !== undefined);
  await until(sim, "members are waited for, and what was fetched is on the claim", isNoted);
  assert.ok(sim.env.memberPods().some(({ metadata }) => metadata.deletionTimestamp !== undefined));
  const [pod] = helpers(sim);
  const path = `/api/v1/namespaces/${NAMESPACE}/pods/${pod?.metadata.name}`;
  assert.equal(sim.user({ method: "DELETE", path }).status, 200);
  await sim.settle();
  assert.deepEqual(sim.operations.outcomes(), ["restore Succeeded Completed"]);
  assert.equal(sim.env.fetches.whole, 1);
  assertRestored(sim, "");
});

test("deleted while members are being stopped, it takes everything back", async () => {
  const sim = await running(6);
  const clusterID = sim.env.established();
  await approveRestore(sim);
  sim.harm();
  await until(sim, "a member is stopped", () =>
    sim.env.memberPods().some(({ metadata }) => metadata.deletionTimestamp !== undefined),
  );
  assert.equal(sim.user({ method: "DELETE", path: `${OPERATIONS}/restore` }).status, 200);
  await sim.settle();
  assert.equal(sim.converged, true, sim.whyNot());
  assert.equal(sim.env.established(), clusterID, "the same cluster with the same data");
  assert.deepEqual(wrongWith(sim), []);
  assert.deepEqual(helpers(sim), []);
});

test("an edit of spec.version while the snapshot is fetched ends it", async () => {
  const sim = await running(7);
  const before = memberPods(sim);
  sim.env.fetches.faults.push("hang");
  await approveRestore(sim);
  await until(sim, "the Pod is there", () => helpers(sim).length === 1);
  sim.edit({ paused: true });
  await sim.pass(30_000);
  assert.equal(operationStatus(sim, "restore")?.reason, "Paused");
  sim.edit({ version: "3.6.15", paused: false });
  await until(sim, "it fails", () => operationStatus(sim, "restore")?.phase === "Failed");
  assert.equal(operationStatus(sim, "restore")?.reason, "PlanChanged");
  await sim.settle();
  assert.equal(sim.env.established() !== undefined && before.length, 3);
  assert.deepEqual(helpers(sim), []);
});

test("a cluster that is deleted meanwhile is deleted, and leaves no helper behind", async () => {
  const sim = await running(8);
  sim.env.fetches.faults.push("hang");
  await approveRestore(sim);
  await until(sim, "the Pod is there", () => helpers(sim).length === 1);
  const path = `/apis/${API_VERSION}/namespaces/${NAMESPACE}/etcdclusters/${NAME}`;
  assert.equal(sim.user({ method: "DELETE", path }).status, 200);
  await until(sim, "it is gone", () => sim.env.cluster() === undefined);
  await until(sim, "so is what it had", () => helpers(sim).length === 0);
});

test("HostPath: the first new member starts on the node that the snapshot was fetched to", async () => {
  const sim = await running(9, { storage: { medium: "HostPath", size: "1Gi", hostPath: "/data" } });
  await approveRestore(sim);
  let node: string | undefined;
  const nodeOf = (pod: object | undefined) =>
    (pod as { spec?: { nodeName?: string } } | undefined)?.spec?.nodeName;
  await until(sim, "it is fetched", () => {
    node ??= nodeOf(helpers(sim)[0]);
    return sim.env.fetches.whole === 1;
  });
  await sim.settle();
  assert.deepEqual(sim.operations.outcomes(), ["restore Succeeded Completed"]);
  assert.deepEqual(wrongWith(sim), []);
  assert.ok(node !== undefined);
  assert.equal(nodeOf(sim.env.server.get(pods, `${NAMESPACE}/demo-4`)), node);
});

test("data in Pods is not given up, and a wrong hash changes nothing", async () => {
  const memory = await running(10, { storage: { medium: "Memory", size: "1Gi" } });
  ask(memory, "restore", { restore: { source: SOURCE, approve: "0123456789abcdef" } });
  await memory.settle();
  assert.deepEqual(memory.operations.outcomes(), ["restore Rejected RestoreNotSupported"]);
  const sim = await running(10);
  ask(sim, "wrong", { restore: { source: SOURCE, approve: "0123456789abcdef" } });
  ask(sim, "nowhere", { restore: { snapshot: "nightly", approve: "0123456789abcdef" } });
  await sim.settle();
  assert.deepEqual(sim.operations.outcomes().toSorted(), [
    "nowhere Rejected SnapshotNotFound",
    "wrong Rejected ApprovalNeeded",
  ]);
});

const SNAPSHOTS = `/apis/${API_VERSION}/namespaces/${NAMESPACE}/etcdsnapshots`;

/** A snapshot of the cluster, and what was recorded after it. */
async function recording(effects?: EffectPlan): Promise<OperatorSimulation> {
  const sim = await running(7, {}, effects);
  const metadata = { name: "base", namespace: NAMESPACE };
  const spec = { cluster: NAME, destination: { s3: { bucket: "backups" } }, verify: false };
  const body = { apiVersion: API_VERSION, kind: "EtcdSnapshot", metadata, spec };
  assert.equal(sim.user({ method: "POST", path: SNAPSHOTS, body }).status, 201);
  await sim.settle();
  return sim;
}

const POINT = { pointInTime: { revision: 7, destination: { s3: { bucket: "backups" } } } };
const snapshotNames = ({ env }: OperatorSimulation) =>
  env.server.list(etcdSnapshots).map(({ metadata }) => metadata.name);

async function restorePoint(sim: OperatorSimulation): Promise<void> {
  ask(sim, "restore", { restore: { ...POINT, approve: await restorePlan(sim, POINT) } });
  await sim.settle();
}

test("a point in time is built for the operation and goes with it, also when the operator dies at any effect (a few here)", async () => {
  const first = await recording();
  const from = first.effects.count;
  await restorePoint(first);
  assert.deepEqual(first.operations.outcomes(), ["restore Succeeded Completed"]);
  assertRestored(first, "");
  assert.deepEqual(snapshotNames(first), ["base"], "the EtcdSnapshot of the point is gone");
  assert.equal(first.env.snapshots.whole.length, 1, "and so is its object");
  await staysQuiet(first);
  const effects = first.effects.count - from;
  for (let nth = 1; nth <= effects; nth += EVERY) {
    const sim = await recording(new Map([[from + nth, "crash-after"]]));
    await restorePoint(sim);
    assert.deepEqual(sim.operations.outcomes(), ["restore Succeeded Completed"], `effect ${nth}`);
    assertRestored(sim, `effect ${nth}`);
    assert.deepEqual([snapshotNames(sim), sim.env.snapshots.whole.length], [["base"], 1], `effect ${nth}`);
  }
});

test("a point that nothing leads to ends the operation before any member was stopped, and leaves nothing", async () => {
  const sim = await running(8);
  const before = memberPods(sim);
  await restorePoint(sim);
  const { phase, reason, message = "" } = operationStatus(sim, "restore") ?? {};
  assert.deepEqual([phase, reason], ["Failed", "PointUnavailable"], message);
  assert.match(message, /nothing leads there/i);
  assert.deepEqual(memberPods(sim), before);
  assert.deepEqual(snapshotNames(sim), []);
});

test("an operation that is deleted while its point is built takes the EtcdSnapshot along", async () => {
  const sim = await recording();
  sim.env.snapshots.faults.push("hang");
  ask(sim, "restore", { restore: { ...POINT, approve: await restorePlan(sim, POINT) } });
  await until(sim, "the point is being built", () => snapshotNames(sim).length === 2);
  assert.equal(sim.user({ method: "DELETE", path: `${OPERATIONS}/restore` }).status, 200);
  await sim.settle();
  assert.deepEqual(snapshotNames(sim), ["base"]);
  assert.equal(sim.converged, true, sim.whyNot());
});
