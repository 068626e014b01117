/**
 * Life and death under the stand-in kubelet: a real etcd is started, probed, killed, frozen, restarted and deleted,
 * and its volumes live as long as they would on a node.
 */
import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { after, before, test } from "node:test";
import type { Pod } from "kubernetes-types/core/v1.d.ts";
import { eventually } from "../../testbed/eventually.ts";
import { faults } from "../../testbed/faults.ts";
import type { Faults } from "../../testbed/faults.ts";
import { upForTests } from "../../testbed/for-tests.ts";
import type { TestTestbed } from "../../testbed/for-tests.ts";
import { CLAIMS, condition, count, etcdPod, firstContainer, Pods, put } from "../support/pods.ts";

let bed: TestTestbed;
let pods: Pods;
let fault: Faults;

before(async () => {
  bed = await upForTests({ kubelet: "process", backoffMs: { first: 200, max: 1000 } });
  pods = new Pods(bed.client);
  fault = faults(bed.name);
});

after(async () => {
  await bed?.down();
});

test("an etcd Pod runs on a claim: it is probed, killed, restarted and deleted, and its data survives", async () => {
  await pods.claim("solo");
  const volumes = [
    { name: "data", persistentVolumeClaim: { claimName: "solo" } },
    { name: "scratch", emptyDir: {} },
  ];
  await pods.create(etcdPod("solo", volumes));
  const first = await pods.ready("solo");
  assert.equal(first.status?.phase, "Running");
  assert.match(first.status?.podIP ?? "", /^127\./);
  assert.deepEqual(
    ["PodScheduled", "Initialized", "ContainersReady", "Ready"].map((type) => condition(first, type)),
    ["True", "True", "True", "True"],
  );
  assert.equal(firstContainer(first)?.imageID, "process://etcd@3.6.16");
  assert.equal(firstContainer(first)?.started, true);
  await put(first.status?.podIP ?? "");

  await fault.kill("default", "solo");
  const restarted = await eventually("the container was restarted", async () => {
    const now = await pods.get("solo");
    return firstContainer(now)?.restartCount === 1 && condition(now, "Ready") === "True" && now;
  });
  assert.equal(firstContainer(restarted)?.lastState?.terminated?.exitCode, 137);
  assert.equal(firstContainer(restarted)?.lastState?.terminated?.reason, "Error");
  assert.equal(restarted.status?.podIP, first.status?.podIP, "a restarted container keeps its Pod's address");
  assert.equal(await count(first.status?.podIP ?? ""), 1);

  const { containers } = await fault.look("default", "solo");
  await pods.remove("solo");
  assert.equal(existsSync(`/proc/${containers[0]?.pid}`), false, "its process is gone with it");

  await pods.create(etcdPod("solo", volumes));
  const again = await pods.ready("solo");
  assert.notEqual(again.metadata?.uid, first.metadata?.uid);
  assert.equal(await count(again.status?.podIP ?? ""), 1, "the claim's volume survived the Pod");
  await pods.remove("solo");
});

test("an emptyDir survives a restart of its container and not the end of its Pod", async () => {
  const volumes = [{ name: "data", emptyDir: {} }];
  await pods.create(etcdPod("empty", volumes));
  let ip = (await pods.ready("empty")).status?.podIP ?? "";
  await put(ip);
  await fault.kill("default", "empty", { signal: "SIGTERM" });
  await eventually("restarted", async () => firstContainer(await pods.get("empty"))?.restartCount === 1);
  await pods.ready("empty");
  assert.equal(await count(ip), 1);
  await pods.remove("empty");
  await pods.create(etcdPod("empty", volumes));
  ip = (await pods.ready("empty")).status?.podIP ?? "";
  assert.equal(await count(ip), 0);
  await pods.remove("empty");
});

test("a frozen etcd stops being ready and is restarted by its liveness probe", async () => {
  const frozen = etcdPod("frozen", [{ name: "data", emptyDir: {} }]);
  frozen.spec!.terminationGracePeriodSeconds = 1;
  frozen.spec!.containers[0]!.livenessProbe!.failureThreshold = 3;
  await pods.create(frozen);
  await pods.ready("frozen");
  await fault.freeze("default", "frozen");
  await eventually("not ready", async () => condition(await pods.get("frozen"), "Ready") === "False");
  const back = await eventually("restarted by the liveness probe", async () => {
    const now = await pods.get("frozen");
    return firstContainer(now)?.restartCount === 1 && condition(now, "Ready") === "True" && now;
  });
  assert.equal(firstContainer(back)?.lastState?.terminated?.exitCode, 137);
  await pods.remove("frozen");
});

test("a lost volume is found empty after the restart", async () => {
  await pods.claim("lost");
  await pods.create(etcdPod("lost", [{ name: "data", persistentVolumeClaim: { claimName: "lost" } }]));
  const ip = (await pods.ready("lost")).status?.podIP ?? "";
  await put(ip);
  await fault.loseVolume("default", "lost", "data");
  await eventually("restarted", async () => firstContainer(await pods.get("lost"))?.restartCount === 1);
  await pods.ready("lost");
  assert.equal(await count(ip), 0);
  await pods.remove("lost");
});

test("a claim grows where its class allows it, and its volume goes with it", async () => {
  interface Claim {
    spec: { volumeName: string };
    status: { capacity: { storage: string } };
  }
  await pods.claim("grows", "immediate");
  const bound = await eventually("it is bound", async () => {
    const now = await bed.client.get<Claim>(`${CLAIMS}/grows`);
    return now.spec.volumeName && now.status.capacity && now;
  });
  await bed.client.patch(`${CLAIMS}/grows`, { spec: { resources: { requests: { storage: "2Gi" } } } });
  await eventually(
    "it has grown",
    async () => (await bed.client.get<Claim>(`${CLAIMS}/grows`)).status.capacity.storage === "2Gi",
  );
  await pods.claim("fixed", "fixed");
  const grow = bed.client.patch(`${CLAIMS}/fixed`, { spec: { resources: { requests: { storage: "2Gi" } } } });
  await assert.rejects(grow, /forbidden|403/i);
  await bed.client.delete(`${CLAIMS}/grows`);
  const volume = `/api/v1/persistentvolumes/${bound.spec.volumeName}`;
  await eventually("the volume is gone", () => pods.isGone(volume));
});

test("a node that loses power becomes NotReady; back again, it restarts its Pods with their disks and without their memory", async () => {
  const volumes = [
    { name: "data", emptyDir: {} },
    { name: "memory", emptyDir: { medium: "Memory" } },
  ];
  const made = etcdPod("powerless", volumes);
  made.spec!.tolerations = ["not-ready", "unreachable"].map((key) => ({
    key: `node.kubernetes.io/${key}`,
    operator: "Exists",
    effect: "NoExecute",
  }));
  const container = made.spec!.containers[0]!;
  container.command = [
    "sh",
    "-c",
    '[ -e /memory/mark ] && echo kept > /dev/termination-log; touch /memory/mark; exec etcd "$@"',
    "sh",
  ];
  await pods.create(made);
  const first = await pods.ready("powerless");
  await put(first.status?.podIP ?? "");
  const node = first.spec?.nodeName ?? "";
  const nodeReady = async () => {
    const now = await bed.client.get<Pod>(`/api/v1/nodes/${node}`);
    return condition(now, "Ready");
  };
  await fault.crashNode(node);
  await assert.rejects(fetch(`http://${first.status?.podIP}:2379/version`));
  await eventually("the node is not ready", async () => (await nodeReady()) === "Unknown");
  await fault.startNode(node);
  const back = await eventually("its Pod runs again", async () => {
    const now = await pods.get("powerless");
    return firstContainer(now)?.restartCount === 1 && condition(now, "Ready") === "True" && now;
  });
  await eventually("the node is ready", async () => (await nodeReady()) === "True");
  assert.equal(await count(back.status?.podIP ?? ""), 1, "the disk kept its data");
  await fault.kill("default", "powerless", { signal: "SIGTERM" });
  const ended = await eventually("restarted in place", async () => {
    const now = await pods.get("powerless");
    return firstContainer(now)?.restartCount === 2 && now;
  });
  assert.equal(
    firstContainer(ended)?.lastState?.terminated?.message,
    undefined,
    "the memory was empty after the crash",
  );
  await pods.remove("powerless");
});
