import assert from "node:assert/strict";
import { test } from "node:test";
import type { Pod } from "kubernetes-types/core/v1.d.ts";
import { isReason } from "../../../../src/kube/errors.ts";
import { pods, resource } from "../../../../src/kube/resources.ts";
import { claims } from "../kinds/claim.ts";
import { nodes as nodeKind, volumes } from "../kinds/simple.ts";
import { pods as podKind } from "../kinds/pod.ts";
import { json } from "../object.ts";
import { kubeBench } from "../testing.ts";
import type { Ending, Hooks, Running, Start } from "./hooks.ts";
import { ModelNodes } from "./nodes.ts";

const claimResource = resource("v1", "PersistentVolumeClaim", "persistentvolumeclaims");
const budgetResource = resource("policy/v1", "PodDisruptionBudget", "poddisruptionbudgets");

interface Process {
  readonly start: Start;
  state: "running" | "stopping" | "gone" | "frozen";
  ready: boolean;
}

function cluster(seed = 1, hooks: Partial<Hooks> = {}) {
  const bench = kubeBench(seed);
  const processes: Process[] = [];
  const gone: string[] = [];
  const all: Hooks = {
    onStart(start): Running {
      const process: Process = { start, state: "running", ready: true };
      processes.push(process);
      return {
        stop() {
          process.state = "stopping";
          bench.scheduler.after(100, () => {
            if (process.state !== "stopping") return;
            process.state = "gone";
            start.ended({ exitCode: 0 });
          });
        },
        kill: () => (process.state = "gone"),
        freeze: () => (process.state = "frozen"),
        thaw: () => (process.state = "running"),
        isReady: () => process.ready && process.state === "running",
      };
    },
    onDiskGone: (disk) => gone.push(disk),
    ...hooks,
  };
  const { server, scheduler, random } = bench;
  const nodes = new ModelNodes({ server, scheduler, random, hooks: all, nodes: ["n1", "n2", "n3"] });
  const us = bench.client("us");
  const pod = (name: string): Pod | undefined =>
    server.get(podKind, `default/${name}`) as unknown as Pod | undefined;
  const running = () =>
    processes.filter(({ state }) => state === "running").map(({ start }) => start.pod.metadata.name);
  const exit = (process: Process | undefined, how: Ending) => {
    if (process) process.state = "gone";
    process?.start.ended(how);
  };
  return { ...bench, nodes, us, processes, running, pod, gone, exit };
}

const apart = {
  podAntiAffinity: {
    requiredDuringSchedulingIgnoredDuringExecution: [
      { labelSelector: { matchLabels: { app: "db" } }, topologyKey: "kubernetes.io/hostname" },
    ],
  },
};

function dbPod(name: string, spec: Partial<Pod["spec"] & object> = {}): Pod {
  return {
    metadata: { name, namespace: "default", labels: { app: "db" } },
    spec: {
      affinity: apart,
      terminationGracePeriodSeconds: 5,
      containers: [
        { name: "etcd", image: "x:1", readinessProbe: { periodSeconds: 1, tcpSocket: { port: 1 } } },
      ],
      volumes: [{ name: "data", persistentVolumeClaim: { claimName: name } }],
      ...spec,
    },
  };
}

const claim = (name: string, spec: object = {}) => ({
  metadata: { name, namespace: "default" },
  spec: { accessModes: ["ReadWriteOnce"], resources: { requests: { storage: "1Gi" } }, ...spec },
});

const ready = (pod: Pod | undefined) =>
  pod?.status?.conditions?.some(({ type, status }) => type === "Ready" && status === "True") ?? false;

async function three(made: ReturnType<typeof cluster>) {
  const { us, done, pass } = made;
  for (const name of ["a", "b", "c"]) {
    await done(us.create(claimResource, claim(name)));
    await done(us.create(pods, dbPod(name)));
  }
  await pass(10_000);
}

test("Pods are placed apart, wait for their volumes, run and become ready", async () => {
  const made = cluster();
  await three(made);
  const { pod, server, processes } = made;
  const found = ["a", "b", "c"].map(pod);
  assert.deepEqual(new Set(found.map((one) => one?.spec?.nodeName)), new Set(["n1", "n2", "n3"]));
  assert.ok(found.every(ready));
  assert.ok(found.every((one) => one?.status?.phase === "Running" && one.status.podIP));
  assert.equal(json(server.get(claims, "default/a")?.["status"])["phase"], "Bound");
  assert.match(processes[0]?.start.disks["data"] ?? "", /^disk-/);
});

test("a Pod that cannot be placed says why, and is placed when it can be", async () => {
  const made = cluster();
  await three(made);
  const { us, done, pass, pod, nodes } = made;
  await done(us.create(claimResource, claim("d")));
  await done(us.create(pods, dbPod("d")));
  await pass(5_000);
  const scheduled = pod("d")?.status?.conditions?.find(({ type }) => type === "PodScheduled");
  assert.equal(scheduled?.reason, "Unschedulable");
  assert.match(
    scheduled?.message ?? "",
    /^0\/3 nodes are available: 3 node\(s\) didn't match pod anti-affinity rules/,
  );
  nodes.add("n4");
  await pass(10_000);
  assert.equal(pod("d")?.spec?.nodeName, "n4");
  assert.ok(ready(pod("d")));
});

test("a Secret that is missing holds the container, not the Pod's place", async () => {
  const { us, done, pass, pod, server } = cluster();
  const spec = {
    volumes: [
      { name: "data", emptyDir: {} },
      { name: "config", secret: { secretName: "later" } },
    ],
  };
  await done(us.create(pods, dbPod("a", spec)));
  await pass(5_000);
  const waiting = pod("a")?.status?.containerStatuses?.[0]?.state?.waiting;
  assert.equal(waiting?.reason, "ContainerCreating");
  assert.match(waiting?.message ?? "", /secret "later" not found/);
  const body = { metadata: { name: "later" }, stringData: { "etcd.yaml": "name: a" } };
  server.handle({ method: "POST", path: "/api/v1/namespaces/default/secrets", body });
  await pass(5_000);
  assert.ok(ready(pod("a")));
});

test("what ends is started again with a growing wait, and its last end is reported", async () => {
  const made = cluster();
  const { us, done, pass, pod, processes, exit } = made;
  await done(us.create(pods, dbPod("a", { volumes: [] })));
  await pass(5_000);
  exit(processes[0], { exitCode: 1, message: "it broke" });
  await pass(3_000);
  assert.equal(processes.length, 2, "the first restart is at once");
  exit(processes[1], { exitCode: 2, message: "again" });
  await pass(1_000);
  const status = pod("a")?.status?.containerStatuses?.[0];
  assert.equal(status?.state?.waiting?.reason, "CrashLoopBackOff");
  assert.equal(status?.lastState?.terminated?.message, "again");
  assert.equal(ready(pod("a")), false);
  await pass(12_000);
  assert.equal(processes.length, 3);
  assert.equal(pod("a")?.status?.containerStatuses?.[0]?.restartCount, 2);
  processes[2]!.ready = false;
  await pass(3_000);
  assert.equal(ready(pod("a")), false, "a probe that fails is reported");
});

test("a deleted Pod is asked to end, and gone when it has", async () => {
  const made = cluster();
  await three(made);
  const { us, done, pass, pod, running } = made;
  const uid = pod("a")?.metadata?.uid ?? "";
  assert.equal(await done(us.delete(pods, { name: "a", namespace: "default" }, { uid })), "deleting");
  assert.ok(pod("a"));
  await pass(2_000);
  assert.equal(pod("a"), undefined);
  assert.deepEqual(running().toSorted(), ["b", "c"]);
});

test("power loss: the node is reported lost, its Pod is deleted and hangs, and ends when the node is back", async () => {
  const made = cluster();
  await three(made);
  const { nodes, pass, pod, server, processes, running } = made;
  const node = pod("a")?.spec?.nodeName ?? "";
  const before = processes.length;
  nodes.crash(node);
  assert.deepEqual(running().toSorted(), ["b", "c"]);
  await pass(30_000);
  assert.ok(ready(pod("a")), "nobody knows yet");
  await pass(15_000);
  const reported = (
    json(server.get(nodeKind, node)?.["status"])["conditions"] as { type: string; status: string }[]
  ).find(({ type }) => type === "Ready");
  assert.equal(reported?.status, "Unknown");
  await pass(330_000);
  assert.ok(pod("a")?.metadata?.deletionTimestamp, "its patience with a lost node is five minutes");
  assert.ok(pod("a"), "and nobody confirms that it ended");
  nodes.boot(node);
  await pass(10_000);
  assert.equal(pod("a"), undefined);
  assert.equal(processes.length, before);
});

test("a node that is back in time goes on with its Pods: restarted, on the same disk, memory emptied", async () => {
  const made = cluster();
  const { us, done, pass, pod, nodes, processes } = made;
  const data = [
    { name: "data", emptyDir: { medium: "Memory" } },
    { name: "scratch", emptyDir: {} },
  ];
  await done(us.create(pods, dbPod("a", { volumes: data })));
  await pass(5_000);
  const node = pod("a")?.spec?.nodeName ?? "";
  nodes.crash(node);
  await pass(5_000);
  nodes.boot(node);
  await pass(10_000);
  const [first, second] = processes.map(({ start }) => start);
  assert.notEqual(second?.disks["data"], first?.disks["data"]);
  assert.equal(second?.disks["scratch"], first?.disks["scratch"]);
  assert.equal(pod("a")?.status?.containerStatuses?.[0]?.restartCount, 1);
  assert.ok(ready(pod("a")));
});

test("a node that is cut off runs on unseen; out of service, its Pods are cleared away", async () => {
  const made = cluster();
  await three(made);
  const { nodes, pass, pod, running } = made;
  const node = pod("a")?.spec?.nodeName ?? "";
  nodes.cut(node);
  await pass(400_000);
  assert.equal(running().length, 3);
  assert.ok(pod("a")?.metadata?.deletionTimestamp);
  nodes.declareOutOfService(node);
  await pass(5_000);
  assert.equal(pod("a"), undefined);
  assert.equal(running().length, 3, "which nobody has told the node");
  nodes.heal(node);
  await pass(5_000);
  assert.deepEqual(running().toSorted(), ["b", "c"]);
});

test("a frozen node goes on where it was", async () => {
  const made = cluster();
  await three(made);
  const { nodes, pass, pod, processes } = made;
  const node = pod("b")?.spec?.nodeName ?? "";
  nodes.freeze(node);
  await pass(20_000);
  assert.equal(processes.filter(({ state }) => state === "frozen").length, 1);
  nodes.thaw(node);
  await pass(10_000);
  assert.ok(ready(pod("b")));
  assert.equal(pod("b")?.status?.containerStatuses?.[0]?.restartCount, 0);
});

test("a drain goes through the budget: one may go, the next not before it is made good", async () => {
  const made = cluster();
  await three(made);
  const { us, done, pass, pod, nodes } = made;
  const spec = { minAvailable: 2, selector: { matchLabels: { app: "db" } } };
  await done(us.create(budgetResource, { metadata: { name: "db", namespace: "default" }, spec } as object));
  await pass(2_000);
  const [first, second] = ["a", "b"].map((name) => pod(name)?.spec?.nodeName ?? "");
  assert.deepEqual(nodes.drain(first ?? ""), []);
  await pass(3_000);
  assert.equal(pod("a"), undefined);
  assert.deepEqual(nodes.drain(second ?? ""), ["default/b"]);
  await pass(3_000);
  assert.ok(pod("b"));
});

test("a Pod evicted by its node has failed, and stays so", async () => {
  const made = cluster();
  await three(made);
  const { nodes, pass, pod, running } = made;
  nodes.evict("default/a");
  await pass(2_000);
  assert.equal(pod("a")?.status?.phase, "Failed");
  assert.equal(pod("a")?.status?.reason, "Evicted");
  assert.deepEqual(running().toSorted(), ["b", "c"]);
});

test("a claim in use is protected; its disk goes with it, unless it is retained", async () => {
  const made = cluster();
  await three(made);
  const { us, done, pass, pod, server, gone } = made;
  const at = { name: "a", namespace: "default" };
  const uid = server.get(claims, "default/a")?.metadata.uid ?? "";
  await done(us.delete(claimResource, at, { uid }));
  await pass(2_000);
  assert.ok(server.get(claims, "default/a"), "its Pod still uses it");
  await done(us.delete(pods, at, { uid: pod("a")?.metadata?.uid ?? "" }));
  await pass(3_000);
  assert.equal(server.get(claims, "default/a"), undefined);
  assert.equal(gone.length, 1);
});

test("a volume grows where its class can, and a lost one is reported", async () => {
  const made = cluster();
  await three(made);
  const { us, done, pass, server, nodes } = made;
  const of = (name: string) => server.get(claims, `default/${name}`);
  const patch = { spec: { resources: { requests: { storage: "2Gi" } } } };
  const grow = (name: string) =>
    done(
      us.patch(claimResource, { name, namespace: "default" }, patch, { uid: of(name)?.metadata.uid ?? "" }),
    );
  await grow("a");
  await pass(1_000);
  assert.deepEqual(json(of("a")?.["status"])["capacity"], { storage: "2Gi" });
  const volume = String(json(of("b")?.["spec"])["volumeName"]);
  nodes.volumes.destroy(volume);
  await pass(1_000);
  assert.equal(json(of("b")?.["status"])["phase"], "Lost");
  assert.equal(server.get(volumes, volume), undefined);
  await done(us.create(claimResource, claim("f", { storageClassName: "fixed" })));
  await done(us.create(pods, dbPod("f", { affinity: {} })));
  await pass(5_000);
  await assert.rejects(grow("f"), (error) => isReason(error, "Forbidden"));
});

test("a local volume keeps its Pod on its node", async () => {
  const { us, done, pass, pod, nodes, server } = cluster(5);
  await done(us.create(claimResource, claim("a", { storageClassName: "local" })));
  await done(us.create(pods, dbPod("a")));
  await pass(5_000);
  const node = pod("a")?.spec?.nodeName ?? "";
  nodes.cordon(node);
  await done(us.delete(pods, { name: "a", namespace: "default" }, { uid: pod("a")?.metadata?.uid ?? "" }));
  await pass(3_000);
  await done(us.create(pods, dbPod("a")));
  await pass(3_000);
  assert.equal(pod("a")?.spec?.nodeName, undefined);
  assert.match(JSON.stringify(pod("a")?.status), /volume node affinity conflict/);
  nodes.cordon(node, false);
  await pass(5_000);
  assert.equal(pod("a")?.spec?.nodeName, node);
  nodes.remove(node);
  await pass(120_000);
  assert.equal(pod("a"), undefined, "a Pod of a node that is gone is cleared away");
  assert.equal(server.get(nodeKind, node), undefined);
});

test("an image that does not come, and a guard that refuses, are reported in the kubelet's words", async () => {
  let images = false;
  const made = cluster(1, {
    hasImage: () => images,
    onInit: ({ restarts }) => (restarts === 0 ? { exitCode: 66, message: "no data" } : undefined),
  });
  const { us, done, pass, pod } = made;
  const initContainers = [{ name: "guard", image: "x:1" }];
  await done(us.create(pods, dbPod("a", { volumes: [], initContainers })));
  await pass(5_000);
  const guard = () => pod("a")?.status?.initContainerStatuses?.[0];
  assert.equal(guard()?.state?.waiting?.reason, "ImagePullBackOff");
  images = true;
  await pass(15_000);
  assert.equal(guard()?.state?.terminated?.exitCode, 66);
  await pass(30_000);
  assert.equal(guard()?.state?.terminated?.exitCode, 0);
  assert.ok(ready(pod("a")));
});

test("a deleted namespace takes everything in it along, Pods in their own time", async () => {
  const made = cluster();
  await three(made);
  const { server, pass, pod, running } = made;
  server.handle({ method: "DELETE", path: "/api/v1/namespaces/default" });
  const body = { metadata: { name: "late" } };
  const late = server.handle({ method: "POST", path: "/api/v1/namespaces/default/configmaps", body });
  assert.equal(late.status, 403);
  await pass(30_000);
  assert.equal(pod("a"), undefined);
  assert.deepEqual(running(), []);
  assert.equal(server.handle({ method: "GET", path: "/api/v1/namespaces/default" }).status, 404);
});
