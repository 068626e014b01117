/**
 * Volumes that are emptied while a kubelet may still have the file of a member's first start, or that are put back to an
 * older state: no member votes without its memory, and no empty cluster is reported as healthy (H3, I3, I4). The files
 * of the model follow as late as a kubelet's.
 */
import assert from "node:assert/strict";
import { test } from "node:test";
import { API_VERSION } from "../../src/api/metadata.ts";
import { services } from "../models/kube/kinds/service.ts";
import { json } from "../models/kube/object.ts";
import { UNREACHABLE } from "../models/kube/nodes/taints.ts";
import { refusal } from "../models/kube/refusal.ts";
import { NAME, NAMESPACE } from "./environment.ts";
import { reportedBy, wrongWith } from "./judge.ts";
import { OperatorSimulation } from "./simulation.ts";

const VERSION = "3.6.16";
const CLIENT = `${NAMESPACE}/demo-client`;

function emptied(sim: OperatorSimulation, member: string): void {
  const { env } = sim;
  const disk = env.diskOf(member);
  const server = env.pods.server(member);
  assert.ok(disk !== undefined && server !== undefined, `${member} runs on a volume`);
  sim.harm();
  sim.tell(`the volume of ${member} is emptied, and its process ends`);
  env.world.signal(server, "SIGKILL");
  env.disks.wipe(disk);
}

function endLeader(sim: OperatorSimulation): void {
  const { world } = sim.env;
  const leader = world.network.all().find((one) => one.runs && world.raftOf(one).leader === one);
  assert.ok(leader);
  sim.harm();
  sim.tell(`the leader ${leader.config.name} ends`);
  world.signal(leader, "SIGKILL");
}

/** Only the kubelet: what runs on the node is reached as before. */
function cutKubelet(sim: OperatorSimulation, member: string): string {
  const server = sim.env.pods.server(member);
  const node = (server && sim.env.pods.nodeOf(server)) ?? "";
  sim.tell(`the kubelet of ${node} is cut off from the API server`);
  sim.env.nodes.cut(node);
  return node;
}

async function until(
  sim: OperatorSimulation,
  what: string,
  holds: () => boolean,
  everyMs = 50,
): Promise<void> {
  for (let i = 0; i < 60_000 / everyMs && !holds(); i++) await sim.pass(everyMs);
  assert.ok(holds(), `${what}\n${sim.lines.join("\n")}`);
}

const conditionOf = (sim: OperatorSimulation, type: string) =>
  sim.cluster?.status?.conditions?.find((one) => one.type === type);

function isLearner(sim: OperatorSimulation, member: string): boolean {
  const id = sim.env.pods.server(member)?.id ?? "";
  return sim.env.world.network.all().some(({ dir }) => dir.state.members.get(id)?.isLearner === true);
}

test("the only member, emptied right after the cluster was opened: told as lost, and nothing empty takes its place", async () => {
  const sim = new OperatorSimulation({ replicas: 1, version: VERSION }, { seed: 1 });
  await until(sim, "clients are let in", () => sim.env.server.get(services, CLIENT) !== undefined);
  emptied(sim, "demo-1");
  await sim.pass(120_000);
  assert.deepEqual(reportedBy(sim), ["DataGone"]);
  assert.equal(conditionOf(sim, "Available")?.reason, "DataGone");
});

for (const mode of ["Managed", "Disabled"] as const)
  test(`the only member, emptied and restarted in the very moment in which clients are let in, does not start over (TLS: ${mode})`, async () => {
    const sim = new OperatorSimulation({ replicas: 1, version: VERSION, tls: { mode } }, { seed: 1 });
    // A kubelet tells of a change of the Pod a moment before it has written the files.
    sim.env.pods.restartMs = 10;
    await until(sim, "clients are let in", () => sim.env.server.get(services, CLIENT) !== undefined, 5);
    emptied(sim, "demo-1");
    await sim.pass(60_000);
    assert.deepEqual(reportedBy(sim), ["DataGone"]);
  });

test("kubelets that report a change half a minute before they write the files: nothing depends on that report", async () => {
  const sim = new OperatorSimulation({ replicas: 2, version: VERSION }, { seed: 1 });
  await sim.settle();
  sim.env.nodes.writeFilesAfter(30_000);
  sim.edit({ replicas: 3 });
  await until(sim, "demo-3 serves", () => sim.env.pods.server("demo-3")?.serving === true);
  await sim.pass(10_000);
  assert.ok(isLearner(sim, "demo-3"), "it would start over if it was emptied now");
  emptied(sim, "demo-3");
  await sim.settle();
  assert.deepEqual(wrongWith(sim), []);
  assert.equal(sim.oracle.truth().voters, 3);
});

for (const [what, isCut] of [
  ["writes its files half a minute late", false],
  ["is cut off from the API server", true],
] as const)
  test(`an unconfirmed learner, emptied after a new election while its kubelet ${what}, never votes without its data`, async () => {
    const sim = new OperatorSimulation({ replicas: 2, version: VERSION }, { seed: 1 });
    await sim.settle();
    if (!isCut) sim.env.nodes.writeFilesAfter(30_000);
    sim.edit({ replicas: 3 });
    await until(sim, "demo-3 serves", () => sim.env.pods.server("demo-3")?.serving === true);
    const node = isCut ? cutKubelet(sim, "demo-3") : undefined;
    await sim.pass(1_000);
    endLeader(sim);
    await sim.pass(4_000);
    assert.ok(
      isLearner(sim, "demo-3"),
      "no leader remembers how far it had come, and its file is the first one",
    );
    emptied(sim, "demo-3");
    await sim.pass(3_000);
    assert.ok(sim.oracle.truth().voters < 3, "it is not promoted before its file is there");
    if (node !== undefined) sim.env.nodes.heal(node);
    await sim.settle();
    assert.equal(sim.converged, true, sim.whyNot());
    assert.deepEqual(wrongWith(sim), []);
    assert.equal(sim.oracle.truth().voters, 3);
  });

test("the only member of a new cluster is opened when its file is there, whatever its kubelet reported before", async () => {
  const sim = new OperatorSimulation({ replicas: 1, version: VERSION }, { seed: 1 });
  sim.env.nodes.writeFilesAfter(30_000);
  await sim.pass(20_000);
  assert.equal(sim.env.server.get(services, CLIENT), undefined);
  await until(sim, "clients are let in", () => sim.env.server.get(services, CLIENT) !== undefined);
  emptied(sim, "demo-1");
  await sim.pass(60_000);
  assert.deepEqual(reportedBy(sim), ["DataGone"]);
});

test("the newest voter, emptied right after its promotion and a new election, is replaced", async () => {
  const sim = new OperatorSimulation({ replicas: 2, version: VERSION }, { seed: 1 });
  await sim.settle();
  sim.edit({ replicas: 3 });
  await until(sim, "demo-3 votes", () => sim.oracle.truth().voters === 3);
  endLeader(sim);
  await sim.pass(4_000);
  emptied(sim, "demo-3");
  await sim.settle();
  assert.equal(sim.converged, true, sim.whyNot());
  assert.deepEqual(wrongWith(sim), []);
  assert.equal(sim.cluster?.status?.members?.map(({ name }) => name).join(" "), "demo-1 demo-2 demo-4");
});

test("no client is let in to a cluster whose kubelet has not confirmed the file for restarts", async () => {
  const sim = new OperatorSimulation({ replicas: 1, version: VERSION }, { seed: 2 });
  await until(sim, "demo-1 runs", () => sim.env.pods.server("demo-1")?.serving === true);
  const node = cutKubelet(sim, "demo-1");
  await until(sim, "the cluster is known to exist", () => sim.env.established() !== undefined);
  await sim.pass(5_000);
  assert.equal(sim.env.server.get(services, CLIENT), undefined);
  assert.equal(conditionOf(sim, "Available")?.reason, "Booting");
  assert.notEqual(conditionOf(sim, "Ready")?.status, "True");
  sim.env.nodes.heal(node);
  await sim.settle();
  assert.equal(sim.converged, true, sim.whyNot());
  assert.ok(sim.env.server.get(services, CLIENT));
});

for (const [what, refused] of [
  ["tolerations are restricted", "tolerations"],
  ["every change of a Pod is refused", "etcd.quorate.dev/latched"],
] as const)
  test(`no client is let in while etcd shows the certificate of the first start, however long, where ${what}`, async () => {
    // Its Pod is not evicted while its node is silent.
    const tolerations = [{ key: UNREACHABLE, operator: "Exists" as const }];
    const sim = new OperatorSimulation({ replicas: 1, version: VERSION, pod: { tolerations } }, { seed: 2 });
    sim.env.front.faults.plan(
      { kind: "answer", done: false, response: refusal(403, "Forbidden", "not here") },
      (_who, { method, path, body }) =>
        method === "PATCH" && path.includes("/pods/") && JSON.stringify(body).includes(refused),
      Number.POSITIVE_INFINITY,
    );
    await until(sim, "demo-1 runs", () => sim.env.pods.server("demo-1")?.serving === true);
    const node = cutKubelet(sim, "demo-1");
    await until(sim, "the cluster is known to exist", () => sim.env.established() !== undefined);
    await sim.pass(3 * 60_000);
    assert.equal(sim.env.server.get(services, CLIENT), undefined);
    assert.equal(conditionOf(sim, "Available")?.reason, "Booting");
    // Emptied now it starts over, and takes nothing from any client.
    emptied(sim, "demo-1");
    await sim.pass(5_000);
    sim.env.nodes.heal(node);
    const opened = () => sim.env.server.get(services, CLIENT) !== undefined;
    await until(sim, "clients are let in", opened, 500);
  });

test("clients are let in as soon as etcd shows the certificate that came with the file", async () => {
  const openedAfter = async (tls: "Managed" | "Disabled") => {
    const sim = new OperatorSimulation({ replicas: 1, version: VERSION, tls: { mode: tls } }, { seed: 2 });
    const hasJoined = () => json(sim.env.members()[0]?.["spec"])["joined"] === true;
    await until(sim, "demo-1 has joined", hasJoined);
    const joined = sim.env.scheduler.now;
    await until(sim, "clients are let in", () => sim.env.server.get(services, CLIENT) !== undefined);
    return sim.env.scheduler.now - joined;
  };
  const [shown, waited] = [await openedAfter("Managed"), await openedAfter("Disabled")];
  assert.ok(shown + 200 < waited, `${shown} ms after it joined, and ${waited} ms without TLS`);
});

test("a learner is not promoted before its kubelet has confirmed the file for restarts", async () => {
  const sim = new OperatorSimulation({ replicas: 1, version: VERSION }, { seed: 3 });
  await sim.settle();
  sim.edit({ replicas: 2 });
  await until(sim, "demo-2 serves", () => sim.env.pods.server("demo-2")?.serving === true);
  const node = cutKubelet(sim, "demo-2");
  await sim.pass(6_000);
  assert.equal(isLearner(sim, "demo-2"), true);
  assert.equal(conditionOf(sim, "Ready")?.reason, "MemberStarting");
  // Emptied meanwhile it starts over as what it is, a learner, and has broken no promise.
  emptied(sim, "demo-2");
  await sim.pass(1_500);
  sim.env.nodes.heal(node);
  await sim.settle();
  assert.equal(sim.converged, true, sim.whyNot());
  assert.deepEqual(wrongWith(sim), []);
});

test("older data that somebody put back is reported as lost until a person accepts it, also by the next operator", async () => {
  const sim = new OperatorSimulation({ replicas: 1, version: VERSION }, { seed: 5, operators: 2 });
  await sim.settle();
  const path = `/apis/${API_VERSION}/namespaces/${NAMESPACE}/etcdclusters/${NAME}`;
  const patch = (body: object, at = path) =>
    sim.user({ method: "PATCH", path: at, body, contentType: "application/merge-patch+json" });
  // As far as any operator can tell, the same as an older copy in the place of the newest.
  patch({ status: { revision: 48_211 } }, `${path}/status`);
  await until(sim, "the loss is reported", () => reportedBy(sim).includes("DataGone"));
  const { message = "" } = conditionOf(sim, "Quorate") ?? {};
  assert.match(message, /approve=accept-data-48211/);
  patch({ metadata: { annotations: { "etcd.quorate.dev/approve": "accept-data-48211" } } });
  await sim.settle();
  assert.equal(sim.converged, true, sim.whyNot());
  assert.ok((sim.cluster?.status?.revision ?? 0) < 1_000, "measured by what was accepted");
  patch({ metadata: { annotations: { "etcd.quorate.dev/approve": null } } });
  for (const { life } of sim.seats) life.cut("killed");
  await sim.pass(60_000);
  await sim.settle();
  assert.deepEqual(wrongWith(sim), []);
});

/** An older snapshot of its volume is restored in place. */
function rolledBack(sim: OperatorSimulation, member: string): void {
  const { env } = sim;
  const disk = env.diskOf(member);
  const server = env.pods.server(member);
  assert.ok(disk !== undefined && server !== undefined, `${member} runs on a volume`);
  sim.harm();
  sim.tell(`the volume of ${member} is put back to an older state, and its process ends`);
  env.world.signal(server, "SIGKILL");
  env.disks.rollBack(disk, Math.floor(server.dir.log.length / 10));
}

for (const restarted of [false, true]) {
  const who = restarted ? "an operator that starts later" : "the operator that saw it";
  test(`the only member, put back to an older state, is reported as lost data by ${who}`, async () => {
    const sim = new OperatorSimulation({ replicas: 1, version: VERSION }, { seed: 4 });
    await sim.settle();
    // The revision in the status is written every ten minutes.
    await sim.pass(restarted ? 650_000 : 200_000);
    const steps = sim.steps;
    rolledBack(sim, "demo-1");
    sim.env.ledger.writeOff();
    if (restarted) sim.seats[0]?.life.cut("the operator is restarted");
    await sim.pass(60_000);
    assert.deepEqual(reportedBy(sim), ["DataGone"]);
    assert.equal(conditionOf(sim, "Available")?.reason, "DataGone");
    assert.equal(sim.steps, steps, "nothing was changed");
  });
}

test("a voter that was put back to an older state is replaced before it has caught up", async () => {
  const sim = new OperatorSimulation({ replicas: 3, version: VERSION }, { seed: 5 });
  await sim.settle();
  await sim.pass(120_000);
  const { env } = sim;
  const leader = env.world.network.all().find((one) => one.runs && env.world.raftOf(one).leader === one);
  const other = ["demo-1", "demo-2", "demo-3"].find((name) => name !== leader?.config.name) ?? "";
  env.pods.slow.add(other);
  rolledBack(sim, other);
  // With another leader nobody remembers how far it had come.
  assert.ok(leader);
  env.world.signal(leader, "SIGKILL");
  await sim.settle();
  assert.equal(sim.converged, true, sim.whyNot());
  assert.deepEqual(wrongWith(sim), []);
  const names = sim.cluster?.status?.members?.map(({ name }) => name) ?? [];
  assert.ok(!names.includes(other) && names.includes("demo-4"), names.join(" "));
});
