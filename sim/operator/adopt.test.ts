/** The volumes of a deleted cluster, taken over by the whole operator on modelled nodes. */
import assert from "node:assert/strict";
import process from "node:process";
import { test } from "node:test";
import type { EtcdClusterStatus } from "../../src/api/etcd-cluster-status.ts";
import { API_VERSION } from "../../src/api/metadata.ts";
import { claimName, LABELS } from "../../src/operator/names.ts";
import { claims } from "../models/kube/kinds/claim.ts";
import { items, json } from "../models/kube/object.ts";
import { pods } from "../models/kube/kinds/pod.ts";
import { volumes } from "../models/kube/kinds/simple.ts";
import type { EffectPlan } from "./effects.ts";
import { NAME, NAMESPACE } from "./environment.ts";
import { staysQuiet, wrongWith } from "./judge.ts";
import { OperatorSimulation } from "./simulation.ts";

const SPEC = { replicas: 3, version: "3.6.16" };
/** One of so many: all of them take minutes. */
const EVERY = process.env["EVERY_EFFECT"] === undefined ? 14 : 1;
const CLUSTERS = `/apis/${API_VERSION}/namespaces/${NAMESPACE}/etcdclusters`;
const CLAIMS = `/api/v1/namespaces/${NAMESPACE}/persistentvolumeclaims`;

const statusOf = (sim: OperatorSimulation) => sim.env.cluster()?.["status"] as EtcdClusterStatus | undefined;

interface Former {
  readonly sim: OperatorSimulation;
  readonly clusterID: string;
  /** Member IDs, by name. */
  readonly ids: Readonly<Record<string, string>>;
}

/** A cluster that clients wrote to and that was deleted, but for its volumes. */
async function deleted(seed: number, spec: object = {}, effects?: EffectPlan): Promise<Former> {
  const sim = new OperatorSimulation({ ...SPEC, ...spec }, { seed, ...(effects && { effects }) });
  await sim.settle();
  await sim.pass(20_000);
  const clusterID = statusOf(sim)?.clusterID ?? assert.fail("no cluster ID");
  const ids = idsOf(sim);
  sim.deleteCluster();
  await sim.settle();
  assert.equal(sim.isGone, true);
  await sim.pass(60_000);
  return { sim, clusterID, ids };
}

function idsOf({ env }: OperatorSimulation): Record<string, string> {
  const servers = ["demo-1", "demo-2", "demo-3"].map((name) => [name, env.pods.server(name)?.id ?? "-"]);
  return Object.fromEntries(servers) as Record<string, string>;
}

function createAgain(sim: OperatorSimulation, adopt: object, more: object = {}): void {
  const metadata = { name: NAME, namespace: NAMESPACE };
  const { storage = {}, ...rest } = more as { storage?: object };
  const spec = { ...SPEC, ...rest, storage: { ...storage, adopt } };
  const body = { apiVersion: API_VERSION, kind: "EtcdCluster", metadata, spec };
  const { status, body: answer } = sim.user({ method: "POST", path: CLUSTERS, body });
  assert.equal(status, 201, JSON.stringify(answer));
}

async function adopted({ sim, clusterID, ids }: Former, about = ""): Promise<void> {
  await sim.settle();
  assert.equal(sim.converged, true, `${about} ${sim.whyNot()}`);
  assert.equal(statusOf(sim)?.clusterID, clusterID, about);
  assert.deepEqual(idsOf(sim), ids, `${about}: the same members of etcd`);
  assert.deepEqual(wrongWith(sim), [], about);
  assert.deepEqual(helpers(sim), [], about);
}

const helpers = ({ env }: OperatorSimulation) =>
  env.server.list(pods).filter(({ metadata }) => metadata.labels?.[LABELS.task] !== undefined);

/** A claim with its labels changed. */
function relabel(sim: OperatorSimulation, member: string, labels: object): void {
  const { status } = sim.user({
    method: "PATCH",
    path: `${CLAIMS}/${claimName(member)}`,
    body: { metadata: { labels } },
    contentType: "application/merge-patch+json",
  });
  assert.equal(status, 200);
}

/** Nothing of the volumes was changed, and nothing was started. */
function assertUntouched(sim: OperatorSimulation, before: readonly unknown[]): void {
  assert.deepEqual(sim.env.server.list(claims), before);
  assert.deepEqual(sim.env.memberPods(), []);
  assert.deepEqual(sim.env.members(), []);
}

test("a cluster that is created again with the ID of its volumes has its members and every acknowledged write back", async () => {
  const former = await deleted(1);
  const { sim, clusterID } = former;
  const written = sim.env.ledger.acknowledged;
  createAgain(sim, { clusterID });
  await adopted(former);
  assert.ok(sim.env.ledger.acknowledged > written, "and clients write again");
  await staysQuiet(sim);
});

test("the operator may be killed after any effect of an adoption (a few of them here)", async () => {
  const first = await deleted(2);
  const from = first.sim.effects.count;
  createAgain(first.sim, { clusterID: first.clusterID });
  await adopted(first);
  const effects = first.sim.effects.count - from;
  assert.ok(effects > 20, `${effects}`);
  for (let nth = 1; nth <= effects; nth += EVERY) {
    const former = await deleted(2, {}, new Map([[from + nth, "crash-after"]]));
    createAgain(former.sim, { clusterID: former.clusterID });
    await adopted(former, `effect ${nth}`);
  }
});

test("another ID is refused by name and reason, and nothing is changed or deleted", async () => {
  const { sim, clusterID } = await deleted(3);
  const before = sim.env.server.list(claims);
  createAgain(sim, { clusterID: "1234" });
  await sim.pass(60_000);
  const { message = "", conditions = [] } = statusOf(sim) ?? {};
  assert.match(message, /no volume of this cluster's name in its namespace has the cluster ID 1234/);
  assert.match(message, new RegExp(`data-demo-1 \\(cluster ID ${clusterID}\\)`));
  assert.ok(conditions.some(({ type, reason }) => type === "Stalled" && reason === "AdoptionRefused"));
  assertUntouched(sim, before);
});

test("a volume whose files are another cluster's is refused, whatever is written on it", async () => {
  const { sim, clusterID, ids } = await deleted(4);
  // Another cluster of the same name, whose volumes then bear the identity of the first.
  const metadata = { name: NAME, namespace: NAMESPACE };
  const body = { apiVersion: API_VERSION, kind: "EtcdCluster", metadata, spec: { ...SPEC, replicas: 1 } };
  assert.equal(sim.user({ method: "POST", path: CLUSTERS, body }).status, 201);
  await sim.settle();
  sim.env.ledger.writeOff();
  sim.deleteCluster();
  await sim.settle();
  await sim.pass(60_000);
  relabel(sim, "demo-4", { [LABELS.clusterID]: clusterID, [LABELS.memberID]: ids["demo-1"] });
  const before = sim.env.server.list(claims);
  createAgain(sim, { clusterID });
  await sim.pass(60_000);
  assert.match(
    statusOf(sim)?.message ?? "",
    /data-demo-4 should hold member \w+ of cluster \w+, but its files hold/,
  );
  assertUntouched(sim, before);
});

test("one volume is gone: the two that are left are a quorum, and the third is replaced", async () => {
  const former = await deleted(5);
  const { sim, clusterID, ids } = former;
  sim.harm();
  sim.user({ method: "DELETE", path: `${CLAIMS}/${claimName("demo-3")}` });
  await sim.pass(5_000);
  createAgain(sim, { clusterID });
  await sim.settle();
  assert.equal(sim.converged, true, sim.whyNot());
  assert.deepEqual(wrongWith(sim), []);
  const { "demo-3": _, ...left } = ids;
  const { "demo-3": gone, ...now } = idsOf(sim);
  assert.equal(gone, "-");
  assert.deepEqual(now, left);
});

test("two volumes are gone: their claims are named, and with approval it is a loss of quorum, with a plan to recover from the third", async () => {
  const { sim, clusterID } = await deleted(6);
  sim.harm();
  for (const member of ["demo-1", "demo-2"])
    sim.user({ method: "DELETE", path: `${CLAIMS}/${claimName(member)}` });
  await sim.pass(5_000);
  const before = sim.env.server.list(claims);
  createAgain(sim, { clusterID });
  await sim.pass(60_000);
  assert.match(
    statusOf(sim)?.message ?? "",
    /PersistentVolumeClaim data-demo-1, PersistentVolumeClaim data-demo-2 .* are not there/,
  );
  assertUntouched(sim, before);
  const annotations = { "etcd.quorate.dev/approve": "adopt-without-demo-1-demo-2" };
  const contentType = "application/merge-patch+json";
  sim.user({
    method: "PATCH",
    path: `${CLUSTERS}/${NAME}`,
    body: { metadata: { annotations } },
    contentType,
  });
  for (let i = 0; i < 300 && !statusOf(sim)?.recovery; i++) await sim.pass(1_000);
  assert.equal(statusOf(sim)?.recovery?.survivor, "demo-3", statusOf(sim)?.message);
});

test("volumes that no cache holds, because they lost their labels, are found by their names", async () => {
  const former = await deleted(7);
  const { sim, clusterID } = former;
  for (const member of ["demo-1", "demo-2"]) relabel(sim, member, { [LABELS.cluster]: null });
  createAgain(sim, { clusterID });
  await adopted(former);
});

const RETAINED = { storage: { className: "retain" } };

/** The claims are gone as well, as with their namespace; what the class retains is Released. */
async function withoutClaims(seed: number, effects?: EffectPlan): Promise<Former> {
  const former = await deleted(seed, RETAINED, effects);
  for (const member of ["demo-1", "demo-2", "demo-3"])
    former.sim.user({ method: "DELETE", path: `${CLAIMS}/${claimName(member)}` });
  await former.sim.pass(5_000);
  assert.deepEqual(former.sim.env.server.list(claims), []);
  assert.deepEqual(phases(former.sim), ["Released", "Released", "Released"]);
  return former;
}

const phases = ({ env }: OperatorSimulation) =>
  env.server.list(volumes).map(({ status }) => (status as { phase?: string } | undefined)?.phase);

test("volumes whose claims went with their namespace are bound again, and every write is there; a few crashes on the way", async () => {
  const first = await withoutClaims(8);
  const from = first.sim.effects.count;
  createAgain(first.sim, { clusterID: first.clusterID }, RETAINED);
  await adopted(first);
  assert.deepEqual(phases(first.sim), ["Bound", "Bound", "Bound"]);
  await staysQuiet(first.sim);
  const names = first.sim.effects.names.slice(from);
  // Both writes of the first volume, and then some.
  const binds = names.flatMap((name, i) =>
    /^(POST persistentvolumeclaims|PATCH persistentvolumes) /.test(name) ? [i + 1] : [],
  );
  assert.ok(binds.length >= 6, names.join("\n"));
  for (const nth of EVERY === 1 ? names.map((_, i) => i + 1) : binds.slice(0, 3)) {
    const former = await withoutClaims(8, new Map([[from + nth, "crash-after"]]));
    createAgain(former.sim, { clusterID: former.clusterID }, RETAINED);
    await adopted(former, `effect ${nth}`);
  }
});

test("Released volumes of another identity are left alone, and so is one whose claim was in another namespace", async () => {
  const { sim, clusterID } = await withoutClaims(9);
  const [first] = sim.env.server.list(volumes);
  const body = { spec: { claimRef: { namespace: "elsewhere" } } };
  const contentType = "application/merge-patch+json";
  sim.user({ method: "PATCH", path: `/api/v1/persistentvolumes/${first?.metadata.name}`, body, contentType });
  const before = sim.env.server.list(volumes);
  createAgain(sim, { clusterID: "1234" }, RETAINED);
  await sim.pass(60_000);
  assert.match(statusOf(sim)?.message ?? "", /no volume .* has the cluster ID 1234/);
  assert.deepEqual(sim.env.server.list(volumes), before);
  sim.deleteCluster();
  await sim.settle();
  createAgain(sim, { clusterID }, RETAINED);
  await sim.settle();
  assert.equal(sim.converged, true, sim.whyNot());
  assert.deepEqual(sim.env.server.get(volumes, String(first?.metadata.name)), before[0], "it is another's");
});

const ON_NODES = { storage: { medium: "HostPath", size: "1Gi", hostPath: "/data" } } as const;

/** A cluster on nodes that was deleted, and where its directories are. */
async function deletedOnNodes(seed: number, effects?: EffectPlan) {
  const sim = new OperatorSimulation({ ...SPEC, ...ON_NODES }, { seed, ...(effects && { effects }) });
  await sim.settle();
  await sim.pass(20_000);
  const clusterID = statusOf(sim)?.clusterID ?? assert.fail("no cluster ID");
  const ids = idsOf(sim);
  const directories = sim.env.memberPods().map(({ spec }) => {
    const { nodeName, volumes: mounted } = json(spec);
    const data = items(mounted)
      .map(json)
      .find(({ hostPath }) => hostPath !== undefined);
    const path = String(json(data?.["hostPath"])["path"]);
    return { node: String(nodeName), path: path.slice(`/data/${NAMESPACE}/`.length) };
  });
  assert.equal(directories.length, 3);
  sim.deleteCluster();
  await sim.settle();
  assert.equal(sim.isGone, true);
  await sim.pass(60_000);
  return { sim, clusterID, ids, directories };
}

test("HostPath: the directories of the former members are read on their nodes and taken over", async () => {
  const former = await deletedOnNodes(21);
  const { sim, clusterID, directories } = former;
  createAgain(sim, { clusterID, directories }, ON_NODES);
  await adopted(former);
  await staysQuiet(sim);
  const path = `/api/v1/namespaces/${NAMESPACE}/pods/demo-2`;
  assert.equal(sim.user({ method: "DELETE", path }).status, 200);
  await adopted(former, "a Pod that is made again finds its directory");
});

test("HostPath: the operator may be killed after any effect of it (a few of them here)", async () => {
  const first = await deletedOnNodes(22);
  const from = first.sim.effects.count;
  createAgain(first.sim, { clusterID: first.clusterID, directories: first.directories }, ON_NODES);
  await adopted(first);
  const effects = first.sim.effects.count - from;
  for (let nth = 1; nth <= effects; nth += EVERY) {
    const former = await deletedOnNodes(22, new Map([[from + nth, "crash-after"]]));
    const { sim, clusterID, directories } = former;
    createAgain(sim, { clusterID, directories }, ON_NODES);
    await adopted(former, `effect ${nth}`);
  }
});

test("HostPath: a directory of another cluster, one that holds nothing, and too few are refused by name", async () => {
  const former = await deletedOnNodes(23);
  const { sim, clusterID, directories } = former;
  const [one, two] = directories;
  assert.ok(one && two);
  const refusedFor = async (given: readonly { node: string; path: string }[]) => {
    createAgain(sim, { clusterID, directories: given }, ON_NODES);
    await sim.pass(60_000);
    assert.equal(sim.env.world.network.all().filter(({ runs }) => runs).length, 0, "nothing is started");
    const message = statusOf(sim)?.message ?? "";
    sim.deleteCluster();
    await sim.settle();
    await sim.pass(30_000);
    return message;
  };
  assert.match(
    await refusedFor([{ ...one, path: one.path.replace("demo.", "other.") }]),
    /other\..* is not the directory of a member of demo/,
  );
  assert.match(await refusedFor([one]), /the directory of demo-2 .*are too few for a quorum/);
  createAgain(sim, { clusterID, directories }, ON_NODES);
  await adopted(former, "nothing was changed by the attempts");
});
