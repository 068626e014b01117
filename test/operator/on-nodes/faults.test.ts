/**
 * Clusters of the operator on three real nodes, under an application, through everything that happens to nodes. Each
 * time: a quorum all along as far as it is ours to keep, healed afterwards, and nothing acknowledged is lost. Last, the
 * operator itself is killed.
 */
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import type { Pod } from "kubernetes-types/core/v1.d.ts";
import type { EtcdCluster } from "../../../src/api/etcd-cluster.ts";
import { eventually } from "../../../testbed/eventually.ts";
import { upForTests, type TestTestbed } from "../../../testbed/for-tests.ts";
import { entering, nodeVerb, type NodeVerb } from "../../../testbed/nodes/verbs.ts";
import { bedPaths } from "../../../testbed/paths.ts";
import { endOwned } from "../../../testbed/processes.ts";
import { up } from "../../../testbed/testbed.ts";
import { PATHS } from "../../support/kube-paths.ts";
import { hideMembers, showMembers } from "../../support/hidden-members.ts";
import { OperatorLives } from "../../support/operator-lives.ts";
import { EVERY_CASE } from "../../support/sample.ts";
import { StaticPods, type Machine } from "../../support/static-pods.ts";
import { Lab } from "../../testbed/on-nodes/lab.ts";
import { kubectl } from "../../testbed/on-nodes/support.ts";

let bed: TestTestbed;
let lab: Lab;
let lives: OperatorLives;
const NODES = [1, 2, 3];
const PATIENCE = { withinMs: 120_000, everyMs: 200 };

before(async () => {
  bed = await upForTests({ nodes: 3 });
  lab = new Lab(bed.name);
  lives = new OperatorLives(bed.kubeconfig, (command) => entering(bed.name, command));
  await lab.call("define");
  await lab.call("startOperator");
});

after(async () => {
  lives?.end();
  await lab?.end();
  await bed?.down();
});

const verb = (what: NodeVerb, node: number) => nodeVerb(bed.name, what, node, () => {}, 90);

/** The fault, and the status says that a member is missing while the cluster serves. */
const reported = (what: NodeVerb, node: number) => async () => {
  await verb(what, node);
  await lab.call("waitFor", "demo", "Degraded");
  await lab.call("waitFor", "demo", "Available");
};

async function podsOf(cluster: string): Promise<Pod[]> {
  const selector = encodeURIComponent(`etcd.quorate.dev/cluster=${cluster}`);
  return (await bed.client.get<{ items: Pod[] }>(`${PATHS.pods}?labelSelector=${selector}`)).items;
}

/** During an earlier fault Kubernetes may have moved a member, and the loss of a node with two of three costs quorum. */
async function nodeOfOne(): Promise<number> {
  const nodes = (await podsOf("demo")).map(({ spec }) => spec?.nodeName);
  const found = NODES.find((node) => nodes.filter((name) => name === `node-${node}`).length === 1);
  return found ?? assert.fail(`no node has one member: ${nodes.join()}`);
}

const statusOf = async (cluster: string) =>
  (await bed.client.get<EtcdCluster>(`${PATHS.clusters}/${cluster}`)).status ?? {};

const memberIDs = async (cluster = "demo") =>
  (await statusOf(cluster)).members?.map(({ name, id }) => `${name} ${id}`).toSorted();

/** Some more writes are acknowledged: a quorum serves. */
async function writesGoOn(): Promise<void> {
  const before = await lab.call("acknowledged", "demo");
  await eventually(
    "writes to go on",
    async () => (await lab.call("acknowledged", "demo")) > before + 20,
    PATIENCE,
  );
}

/** The fault, writes meanwhile, its end; then all members are healthy again, and the application is content. */
async function survives(
  t: { diagnostic(text: string): void },
  fault: () => Promise<void>,
  end: () => Promise<void>,
): Promise<void> {
  await lab.call("startChecker", "demo");
  await writesGoOn();
  await fault();
  try {
    await writesGoOn();
  } finally {
    await end();
  }
  await lab.call("converged", "demo", 3);
  // One that was left behind on a lost node goes when the node is back.
  await eventually("no Pod but theirs", async () => (await podsOf("demo")).length === 3, PATIENCE);
  const { gapMs, writes } = await lab.call("judged", "demo");
  t.diagnostic(`${writes} writes, longest gap ${gapMs} ms`);
  await lab.call("assertSound", "demo", 3);
}

test("three members come up, one on each node", async (t) => {
  const began = Date.now();
  await lab.call("create", "demo", { replicas: 3, repair: { memberLostAfter: "30m" } });
  await lab.call("converged", "demo", 3);
  t.diagnostic(`after ${Date.now() - began} ms`);
  const nodes = (await podsOf("demo")).map(({ spec }) => spec?.nodeName ?? "");
  assert.deepEqual(nodes.toSorted(), ["node-1", "node-2", "node-3"]);
  await lab.call("assertSound", "demo", 3);
});

// First, while no node was lost: a taint of an earlier fault would make Kubernetes evict Pods in the midst of it.
test("the operator alone cannot reach the members: it says so and restarts nobody for an edit until it can", async (t) => {
  await lab.call("edit", "demo", { repair: { unhealthyAfter: "5s", memberLostAfter: "10s" } });
  await lab.call("converged", "demo", 3);
  const before = await podUIDs();
  const { length } = await lab.call("steps");
  for (const node of NODES) await hideMembers(bed.name, node);
  try {
    const message = await says("Quorate", "Unknown/EtcdUnreachable");
    assert.match(message, /their etcd containers are ready and their peers are connected to them/);
    await lab.call("edit", "demo", { options: { snapshotCount: 20_000 } });
    await says("Quorate", "Unknown/EtcdUnreachable", 20);
    for (const type of ["Available", "Degraded"]) await says(type, "Unknown/EtcdUnreachable");
    assert.deepEqual(await lab.call("steps", length), []);
    assert.deepEqual(await podUIDs(), before);
    for (const node of [1, 2]) await showMembers(bed.name, node);
    await says("Degraded", "Unknown/MemberUnreachable", 20);
    assert.deepEqual(await lab.call("steps", length), [], "nor is the one replaced that stays hidden");
    await says("Quorate", "True/Quorum");
    // Those that restart now may take their time.
    await lab.call("edit", "demo", { repair: { unhealthyAfter: null, memberLostAfter: "30m" } });
  } finally {
    for (const node of NODES) await showMembers(bed.name, node).catch(() => undefined);
  }
  await lab.call("converged", "demo", 3);
  assert.ok(
    (await podUIDs()).every((uid) => !before.includes(uid)),
    "the edit is rolled out",
  );
  t.diagnostic((await lab.call("steps", length)).join("; "));
  await lab.call("assertSound", "demo", 3);
});

test("a node loses power: told, and its member is back with its data when the node is", async (t) => {
  const before = await memberIDs();
  const node = await nodeOfOne();
  await survives(t, reported("crash", node), () => verb("start", node));
  assert.deepEqual(await memberIDs(), before);
});

test("a node is cut off: told, and its member catches up", async (t) => {
  const node = await nodeOfOne();
  await survives(t, reported("cut", node), () => verb("heal", node));
});

test("a node freezes: told, and its member goes on where it was", async (t) => {
  const node = await nodeOfOne();
  await survives(t, reported("freeze", node), () => verb("thaw", node));
});

/** For as long, by the status itself. */
async function says(type: string, reported: string, forSeconds = 0): Promise<string> {
  return await eventually(
    `${type} is ${reported} for ${forSeconds} s`,
    async () => {
      const found = (await statusOf("demo")).conditions?.find((one) => one.type === type);
      const since = Date.now() - Date.parse(found?.lastTransitionTime ?? "");
      return `${found?.status}/${found?.reason}` === reported && since >= forSeconds * 1_000
        ? found?.message
        : undefined;
    },
    PATIENCE,
  );
}

const podUIDs = async () => (await podsOf("demo")).map(({ metadata }) => metadata?.uid ?? "").toSorted();

test("the disk of a member is full: it is told, the others go on, and with room it is back", async (t) => {
  const node = await nodeOfOne();
  await survives(t, reported("fill-disk", node), () => verb("free-disk", node));
});

test("a node that stays lost: another member takes the place of the one on it", async (t) => {
  await lab.call("edit", "demo", { repair: { unhealthyAfter: "5s", memberLostAfter: "15s" } });
  await lab.call("converged", "demo", 3);
  const before = await memberIDs();
  const node = await nodeOfOne();
  const on = `node-${node}`;
  const lost = (await podsOf("demo")).find(({ spec }) => spec?.nodeName === on)?.metadata?.name ?? "";
  const began = Date.now();
  await survives(
    t,
    async () => {
      await reported("crash", node)();
      await eventually("it is given up", async () => !(await members("demo")).includes(lost), PATIENCE);
      // Whoever comes in its place may take its time, and so may those that restart later on.
      await lab.call("edit", "demo", { repair: { unhealthyAfter: null, memberLostAfter: "30m" } });
      await lab.call("converged", "demo", 3);
      t.diagnostic(`replaced after ${Date.now() - began} ms`);
    },
    () => verb("start", node),
  );
  const after = (await memberIDs()) ?? [];
  assert.equal(before?.filter((one) => after.includes(one)).length, 2);
});

test("other resources reach the members as they run", async () => {
  const lives = async () =>
    (await podsOf("demo")).map(({ metadata, status }) => [
      metadata?.uid,
      status?.containerStatuses?.[0]?.restartCount,
    ]);
  const before = await lives();
  await lab.call("edit", "demo", { pod: { resources: { requests: { cpu: "110m", memory: "260Mi" } } } });
  await lab.call("converged", "demo", 3);
  assert.deepEqual(await lives(), before);
  const [pod] = await podsOf("demo");
  assert.equal(pod?.status?.containerStatuses?.[0]?.resources?.requests?.["cpu"], "110m");
});

test("each node is drained in turn, also one with two members: they move one at a time, and are who they were", async (t) => {
  const before = await memberIDs();
  for (const node of NODES)
    await survives(
      t,
      () => verb("drain", node),
      async () => void (await kubectl(bed.name, "uncordon", `node-${node}`)),
    );
  assert.deepEqual(await memberIDs(), before);
});

/** Nothing is left: neither nodes nor API server nor operator. */
async function totalOutage(): Promise<void> {
  for (const node of NODES) await verb("crash", node);
  await lab.call("stopOperator");
  const plane = ["kube-apiserver", "kube-scheduler", "kube-controller-manager"];
  await endOwned(bedPaths(bed.name).dir, ({ role }) => plane.includes(role));
}

/** All of that is started, but for what runs. */
async function startAll(): Promise<void> {
  const again = await up({ name: bed.name, nodes: 3 });
  again.client.close();
  await lab.call("startOperator");
}

// Of these nodes, /var/lib itself is in memory, and what the kubelet has is not.
const HOST_PATH = "/var/lib/kubelet/quorate";

test("all nodes lose power at once, with API server and operator: what is on disks and in directories of nodes is back with every write; what was in memory is told to be gone", async (t) => {
  const memory = {
    replicas: 3,
    storage: { medium: "Memory", size: "128Mi" },
    options: { quotaBackendBytes: "32Mi" },
  };
  await lab.call("create", "cache", memory);
  const storage = { medium: "HostPath", size: "1Gi", hostPath: HOST_PATH };
  await lab.call("create", "hosts", { replicas: 3, storage, repair: { memberLostAfter: "30m" } });
  await lab.call("converged", "cache", 3);
  await lab.call("converged", "hosts", 3);
  const { clusterID } = await statusOf("cache");
  const durable = ["demo", "hosts"];
  // No watch: addresses of Pods go to Pods of other clusters when all nodes start again.
  const keys = Array.from({ length: 20 }, (_, i) => `outage/${i}`);
  for (const cluster of durable) for (const key of keys) await lab.call("put", cluster, key, "x");
  const before = await Promise.all(durable.map(memberIDs));
  const began = Date.now();
  await totalOutage();
  await startAll();
  await eventually(
    "it is told",
    async () => {
      const { conditions = [] } = await statusOf("cache");
      return conditions.some(
        ({ type, status, reason }) => type === "Available" && status === "False" && reason === "DataGone",
      );
    },
    PATIENCE,
  );
  assert.equal((await statusOf("cache")).clusterID, clusterID);
  for (const cluster of durable) {
    await lab.call("converged", cluster, 3);
    for (const key of keys) await lab.call("has", cluster, key);
    await lab.call("assertSound", cluster, 3);
    t.diagnostic(`${cluster} is whole after ${Date.now() - began} ms`);
  }
  assert.deepEqual(await Promise.all(durable.map(memberIDs)), before, "the same members");
});

test("no API server comes back: the members of a majority are started as static Pods on their nodes, and the operator goes on from there", async (t) => {
  const before = await memberIDs("hosts");
  const machines = (await podsOf("hosts")).map(({ metadata, spec }) => ({
    member: metadata?.name ?? "",
    node: Number(spec?.nodeName?.replace("node-", "")),
  }));
  await lab.call("put", "hosts", "static/before", "x");
  await totalOutage();
  const began = Date.now();
  const [left, right] = machines.slice(0, 2) as [Machine, Machine];
  for (const { node } of [left, right]) await verb("boot", node);
  const pods = await StaticPods.start(bed.name, HOST_PATH, [left, right], machines);
  await pods.serve(left, ["get", "static/before", "--print-value-only"], /^x$/m);
  await pods.serve(right, ["put", "static/meanwhile", "y"], /^OK$/m);
  t.diagnostic(`a majority serves ${Date.now() - began} ms after the machines were started`);
  await pods.remove();
  await startAll();
  const isThere = (key: string) =>
    lab.call("has", "hosts", key).then(
      () => true,
      () => false,
    );
  // What the status says at first is from before.
  await eventually("its clients are served again", () => isThere("static/meanwhile"), PATIENCE);
  assert.ok(await isThere("static/before"));
  await lab.call("converged", "hosts", 3);
  await lab.call("assertSound", "hosts", 3);
  assert.deepEqual(await memberIDs("hosts"), before, "the same members");
});

interface Crash {
  /** Effects after which the operator dies. */
  readonly after: number;
  readonly begin: () => Promise<unknown>;
  readonly size: number;
  /** Also in the sample that `npm test` takes; `npm run e2e -- --all` takes all. */
  readonly always?: true;
  /** Nobody can write to it yet. */
  readonly isNew?: true;
}

const editCrash = (spec: object) => async () => await lab.call("edit", "crash", spec);
const replaceOldest = async () => {
  const [oldest] = await members();
  await bed.client.delete(`${PATHS.members}/${oldest}`);
};

/** One after the other, on one cluster. */
const CRASHES: Readonly<Record<string, Crash>> = {
  "made, early": {
    after: 9,
    begin: () => lab.call("create", "crash", { replicas: 3, version: "3.6.14" }),
    size: 3,
    always: true,
    isNew: true,
  },
  "replaced, early": { after: 3, begin: replaceOldest, size: 3 },
  "scaled out": { after: 9, begin: editCrash({ replicas: 5 }), size: 5 },
  "scaled in": { after: 6, begin: editCrash({ replicas: 3 }), size: 3 },
  "upgraded, early": { after: 3, begin: editCrash({ version: "3.6.16" }), size: 3 },
  "upgraded to another minor, late": { after: 10, begin: editCrash({ version: "3.7.3" }), size: 3 },
  "replaced, late": { after: 10, begin: replaceOldest, size: 3 },
  "made anew, late": {
    after: 25,
    begin: async () => {
      await bed.client.delete(`${PATHS.clusters}/crash`);
      await lab.call("create", "crash-again", { replicas: 3 });
    },
    size: 3,
    isNew: true,
  },
};

async function members(cluster = "crash"): Promise<string[]> {
  const selector = encodeURIComponent(`etcd.quorate.dev/cluster=${cluster}`);
  const path = `${PATHS.members}?labelSelector=${selector}`;
  const { items } = await bed.client.get<{ items: { metadata: { name: string } }[] }>(path);
  return items.map(({ metadata }) => metadata.name);
}

for (const [what, { after: point, begin, size, always, isNew }] of Object.entries(CRASHES))
  if (always || EVERY_CASE)
    test(`the operator is killed while a cluster is ${what}, and the next one finishes it`, async (t) => {
      await lab.call("stopOperator");
      const cluster = what.startsWith("made anew") ? "crash-again" : "crash";
      if (!isNew) await lab.call("startChecker", cluster);
      const [oldest = ""] = isNew ? [] : await members(cluster);
      const mortal = lives.live(point);
      await begin();
      assert.ok(await mortal.ended, "its hour had come");
      t.diagnostic(`after ${mortal.effects.at(-1)}`);
      const next = lives.live(0);
      const names = await eventually(
        "it has as many members",
        async () => {
          await lab.call("converged", cluster, size);
          const now = await members(cluster);
          return begin === replaceOldest && now.includes(oldest) ? undefined : now;
        },
        PATIENCE,
      );
      assert.equal(names.length, size);
      if (!isNew) await lab.call("judged", cluster);
      await lab.call("assertSound", cluster, size);
      const pods = (await podsOf(cluster)).map(({ metadata }) => metadata?.name ?? "");
      assert.deepEqual(pods.toSorted(), names.toSorted());
      await next.stop();
    });
