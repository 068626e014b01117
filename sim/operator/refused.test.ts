/**
 * What the operator cannot make is not lost: Pods that are refused, an authority that is gone, a Pod that never ends.
 * Members keep their identity and their volumes, and the status names the cause (H16).
 */
import assert from "node:assert/strict";
import { test } from "node:test";
import { pods } from "../models/kube/kinds/pod.ts";
import { refusal } from "../models/kube/refusal.ts";
import { json } from "../models/kube/object.ts";
import { NAMESPACE } from "./environment.ts";
import { OperatorSimulation } from "./simulation.ts";

/** Lost after a minute, so that the tests need not wait for long. */
const THREE = {
  replicas: 3,
  version: "3.6.16",
  repair: { unhealthyAfter: "30s", memberLostAfter: "1m" },
} as const;
const CORE = `/api/v1/namespaces/${NAMESPACE}`;
const MINUTE = 60_000;

async function settled(spec: object = {}): Promise<OperatorSimulation> {
  const sim = new OperatorSimulation({ ...THREE, ...spec }, { seed: 1 });
  await sim.settle();
  return sim;
}

const membersOf = (sim: OperatorSimulation) => sim.env.members().map(({ metadata }) => metadata.name);
const podsOf = (sim: OperatorSimulation) => sim.env.server.list(pods).map(({ metadata }) => metadata.name);
const learners = (sim: OperatorSimulation) =>
  sim.env.world.network
    .all()
    .flatMap(({ dir }) => [...dir.state.members.values()].filter((one) => one.isLearner));
const messageOf = (sim: OperatorSimulation) => sim.cluster?.status?.message ?? "";

function remove(sim: OperatorSimulation, path: string): void {
  sim.harm();
  assert.equal(sim.user({ method: "DELETE", path: `${CORE}/${path}` }).status, 200);
}

/** Every POST of a Pod is answered like this until the returned function is called. */
function refusePods(sim: OperatorSimulation, response: ReturnType<typeof refusal>): () => void {
  let on = true;
  sim.env.front.faults.plan(
    { kind: "answer", done: false, response },
    (_who, { method, path }) => on && method === "POST" && path.endsWith("/pods"),
    Number.POSITIVE_INFINITY,
  );
  return () => (on = false);
}

const REFUSALS = [
  [
    "an admission webhook that is down",
    refusal(500, "InternalError", 'failed calling webhook "policy.example": connection refused'),
  ],
  [
    "a quota",
    refusal(403, "Forbidden", "exceeded quota: pods, requested: pods=1, used: pods=2, limited: pods=2"),
  ],
] as const;

for (const [who, response] of REFUSALS)
  test(`Pods that ${who} refuses: their members are kept, however long, and return with their data`, async () => {
    const sim = await settled();
    const id = sim.env.pods.server("demo-2")?.id;
    const allow = refusePods(sim, response);
    remove(sim, "pods/demo-2");
    await sim.pass(4 * MINUTE);
    assert.deepEqual(membersOf(sim), ["demo-1", "demo-2", "demo-3"]);
    assert.deepEqual(podsOf(sim), ["demo-1", "demo-3"]);
    assert.equal(sim.oracle.truth().voters, 3);
    assert.match(messageOf(sim), /demo-2 cannot be started: the Pod of demo-2: POST .*(webhook|quota)/);
    // Nobody new is begun who could not be made either.
    assert.equal(sim.edit({ replicas: 5 }), true);
    await sim.pass(MINUTE);
    assert.deepEqual(membersOf(sim), ["demo-1", "demo-2", "demo-3"]);
    allow();
    await sim.settle();
    assert.equal(sim.oracle.truth().healthy.size, 5);
    assert.equal(sim.env.pods.server("demo-2")?.id, id);
  });

for (const version of ["3.5.33", "3.6.16"])
  for (const [who, response] of REFUSALS)
    test(`newcomers whose Pods ${who} refuses are not added to etcd ${version}`, async () => {
      const sim = await settled({ version });
      const allow = refusePods(sim, response);
      assert.equal(sim.edit({ replicas: 5 }), true);
      await sim.pass(4 * MINUTE);
      assert.equal(sim.oracle.truth().voters, 3);
      assert.deepEqual(learners(sim), []);
      assert.match(messageOf(sim), /[Nn]ot adding a member.*: the Pod of demo-4: .*(webhook|quota)/);
      assert.deepEqual(membersOf(sim), ["demo-1", "demo-2", "demo-3", "demo-4"]);
      allow();
      await sim.settle();
      assert.equal(sim.oracle.truth().healthy.size, 5);
      assert.deepEqual(membersOf(sim), ["demo-1", "demo-2", "demo-3", "demo-4", "demo-5"]);
    });

test("newcomers that are refused are taken back with the spec", async () => {
  const sim = await settled();
  const allow = refusePods(sim, REFUSALS[1][1]);
  assert.equal(sim.edit({ replicas: 5 }), true);
  await sim.pass(MINUTE);
  assert.equal(sim.edit({ replicas: 3 }), true);
  await sim.settle();
  assert.deepEqual(membersOf(sim), ["demo-1", "demo-2", "demo-3"]);
  assert.equal(sim.converged, true, sim.whyNot());
  allow();
});

test("first members whose Pods are refused wait, and the status tells by whom", async () => {
  const sim = new OperatorSimulation(THREE, { seed: 1 });
  const allow = refusePods(sim, refusal(403, "Forbidden", "exceeded quota: pods, limited: pods=0"));
  await sim.pass(2 * MINUTE);
  assert.deepEqual(membersOf(sim), ["demo-1", "demo-2", "demo-3"]);
  assert.match(messageOf(sim), /demo-1 cannot be started: the Pod of demo-1: .*exceeded quota/);
  allow();
  await sim.settle();
  assert.equal(sim.oracle.truth().healthy.size, 3);
});

test("an authority that is gone keeps no member with a valid Secret from being started, also by a new operator", async () => {
  const sim = await settled();
  remove(sim, "secrets/demo-peer-ca");
  await sim.pass(5_000);
  sim.seats[0]?.life.cut("the operator is restarted");
  await sim.pass(10_000);
  remove(sim, "pods/demo-1");
  await sim.pass(3 * MINUTE);
  assert.deepEqual(membersOf(sim), ["demo-1", "demo-2", "demo-3"]);
  assert.equal(sim.oracle.truth().healthy.size, 3);
  // Nobody new is begun: it could get no certificate.
  assert.equal(sim.edit({ replicas: 5 }), true);
  await sim.pass(MINUTE);
  assert.deepEqual(membersOf(sim), ["demo-1", "demo-2", "demo-3"]);
  assert.match(messageOf(sim), /Secret default\/demo-peer-ca is missing, so no certificate can be issued/);
});

test("without the authority and without its Secret a member is kept, and the status says what is missing", async () => {
  const sim = await settled();
  const secret = sim.user({ method: "GET", path: `${CORE}/secrets/demo-peer-ca` }).body;
  remove(sim, "secrets/demo-peer-ca");
  sim.seats[0]?.life.cut("the operator is restarted");
  await sim.pass(10_000);
  remove(sim, "secrets/demo-1");
  remove(sim, "pods/demo-1");
  await sim.pass(3 * MINUTE);
  assert.deepEqual(membersOf(sim), ["demo-1", "demo-2", "demo-3"]);
  assert.equal(sim.oracle.truth().voters, 3);
  assert.match(
    messageOf(sim),
    /demo-1 cannot be started: its certificate cannot be issued: Secret .*peer-ca/,
  );
  const { metadata, ...rest } = json(secret);
  const { name, labels, ownerReferences } = json(metadata);
  const body = { ...rest, metadata: { name, labels, ownerReferences } };
  assert.equal(sim.user({ method: "POST", path: `${CORE}/secrets`, body }).status, 201);
  await sim.settle();
  assert.equal(sim.oracle.truth().healthy.size, 3);
});

test("a member whose kubelet alone is cut off from the API server is kept while it serves, and replaced when it does not", async () => {
  const sim = await settled();
  const server = sim.env.pods.server("demo-2");
  const node = (server && sim.env.pods.nodeOf(server)) ?? "";
  sim.harm();
  sim.env.nodes.cut(node);
  await sim.pass(5 * MINUTE);
  assert.equal(sim.env.pods.server("demo-2"), server, "Kubernetes deleted its Pod, and it serves on");
  assert.equal(sim.oracle.truth().healthy.size, 3);
  assert.deepEqual(membersOf(sim), ["demo-1", "demo-2", "demo-3"]);
  assert.match(messageOf(sim), /demo-2 is not replaced while it serves.*kubelet/);
  sim.env.cutNode(node);
  await sim.pass(MINUTE / 2);
  assert.deepEqual(membersOf(sim), ["demo-1", "demo-2", "demo-3"], "its time begins when it is silent");
  await sim.pass(2 * MINUTE);
  assert.ok(membersOf(sim).includes("demo-4"), "now it counts as lost");
  sim.env.healNode(node);
  await sim.settle();
  assert.equal(sim.oracle.truth().healthy.size, 3);
});

test("a Pod that never ends keeps nobody out who follows, also where Nodes may not be read", async () => {
  const sim = new OperatorSimulation(THREE, { seed: 1 });
  const response = refusal(403, "Forbidden", "nodes is forbidden");
  const isOfNodes = (_who: string, { path }: { readonly path: string }) => path.endsWith("/nodes");
  sim.env.front.faults.plan({ kind: "answer", done: false, response }, isOfNodes, Number.POSITIVE_INFINITY);
  await sim.settle();
  const pod = sim.env.server.list(pods).find(({ metadata }) => metadata.name === "demo-2");
  sim.harm();
  sim.env.nodes.crash(String(json(pod?.["spec"])["nodeName"]));
  await sim.pass(10 * MINUTE);
  assert.equal(sim.oracle.truth().healthy.size, 3);
  assert.deepEqual(membersOf(sim), ["demo-1", "demo-2", "demo-3", "demo-4"]);
  assert.match(messageOf(sim), /demo-2 has left etcd, but its Pod has been terminating/);
  // Neither does it keep others from leaving, joining or being restarted.
  assert.equal(sim.edit({ replicas: 1, version: "3.6.15" }), true);
  await sim.pass(2 * MINUTE);
  assert.equal(sim.oracle.truth().voters, 1);
  assert.equal(sim.cluster?.status?.updatedReplicas, 1);
});
