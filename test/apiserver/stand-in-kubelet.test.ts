/**
 * The stand-in kubelet: a real etcd in a Pod is started, probed, killed, restarted and deleted, and its volumes
 * live as long as they would on a node.
 */
import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, test } from "node:test";
import type { Pod, PodSpec } from "kubernetes-types/core/v1.d.ts";
import { isCode } from "../../testbed/client.ts";
import { eventually } from "../../testbed/eventually.ts";
import { faults } from "../../testbed/faults.ts";
import type { Faults } from "../../testbed/faults.ts";
import { upForTests } from "../../testbed/for-tests.ts";
import type { TestTestbed } from "../../testbed/for-tests.ts";
import { bedPaths } from "../../testbed/paths.ts";

const PODS = "/api/v1/namespaces/default/pods";
const CLAIMS = "/api/v1/namespaces/default/persistentvolumeclaims";

let bed: TestTestbed;
let fault: Faults;

before(async () => {
  bed = await upForTests({ kubelet: "process", backoffMs: { first: 200, max: 1000 } });
  fault = faults(bed.name);
});

after(async () => {
  await bed?.down();
});

function pod(name: string, spec: Partial<PodSpec>): Pod {
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name, namespace: "default", labels: { app: name } },
    spec: { enableServiceLinks: false, terminationGracePeriodSeconds: 5, containers: [], ...spec },
  };
}

/** A single etcd that keeps its data where `volume` says. */
function etcdPod(name: string, volumes: PodSpec["volumes"]): Pod {
  const probe = (path: string) => ({
    httpGet: { path, port: "metrics" },
    periodSeconds: 1,
    failureThreshold: 3,
  });
  return pod(name, {
    volumes: volumes ?? [],
    containers: [
      {
        name: "etcd",
        image: "registry.example/etcd:v3.6.16",
        command: ["etcd"],
        args: [
          "--name=$(NAME)",
          "--data-dir=/var/lib/etcd/data",
          "--listen-client-urls=http://0.0.0.0:2379",
          "--advertise-client-urls=http://$(POD_IP):2379",
          "--listen-peer-urls=http://0.0.0.0:2380",
          "--listen-metrics-urls=http://0.0.0.0:2381",
        ],
        env: [
          { name: "NAME", value: "solo" },
          { name: "POD_IP", valueFrom: { fieldRef: { fieldPath: "status.podIP" } } },
        ],
        ports: [{ name: "metrics", containerPort: 2381 }],
        startupProbe: { ...probe("/readyz"), failureThreshold: 30 },
        livenessProbe: probe("/livez"),
        readinessProbe: probe("/readyz"),
        volumeMounts: (volumes ?? []).map((v) => ({
          name: v.name,
          mountPath: v.name === "data" ? "/var/lib/etcd" : `/${v.name}`,
        })),
      },
    ],
  });
}

const getPod = (name: string) => bed.client.get<Pod>(`${PODS}/${name}`);
const condition = (p: Pod, type: string) => p.status?.conditions?.find((c) => c.type === type)?.status;
const etcdStatus = (p: Pod) => p.status?.containerStatuses?.[0];

function ready(name: string): Promise<Pod> {
  return eventually(`Pod ${name} is ready`, async () => {
    const now = await getPod(name);
    return condition(now, "Ready") === "True" && now;
  });
}

async function remove(name: string, body: object = {}): Promise<void> {
  await bed.client.delete(`${PODS}/${name}`, body);
  await eventually(`Pod ${name} is gone`, () =>
    getPod(name).then(
      () => false,
      (error: unknown) => isCode(error, 404),
    ),
  );
}

async function claim(name: string, storageClassName = "standard"): Promise<void> {
  await bed.client.create(CLAIMS, {
    apiVersion: "v1",
    kind: "PersistentVolumeClaim",
    metadata: { name },
    spec: { accessModes: ["ReadWriteOnce"], storageClassName, resources: { requests: { storage: "1Gi" } } },
  });
}

/** etcd's own JSON gateway; keys and values travel in base64. */
async function etcdCall(
  ip: string,
  method: string,
  body: Record<string, string>,
): Promise<Record<string, unknown>> {
  const response = await fetch(`http://${ip}:2379/v3/kv/${method}`, {
    method: "POST",
    body: JSON.stringify(body),
  });
  assert.ok(response.ok, `${method}: ${response.status}`);
  return (await response.json()) as Record<string, unknown>;
}

const base64 = (text: string) => Buffer.from(text).toString("base64");
const put = (ip: string) => etcdCall(ip, "put", { key: base64("kept"), value: base64("yes") });
const count = async (ip: string) =>
  Number((await etcdCall(ip, "range", { key: base64("kept") }))["count"] ?? 0);

test("an etcd Pod runs on a claim: it is probed, killed, restarted and deleted, and its data survives", async () => {
  await claim("solo");
  const volumes = [
    { name: "data", persistentVolumeClaim: { claimName: "solo" } },
    { name: "scratch", emptyDir: {} },
  ];
  await bed.client.create(PODS, etcdPod("solo", volumes));
  const first = await ready("solo");
  assert.equal(first.status?.phase, "Running");
  assert.match(first.status?.podIP ?? "", /^127\./);
  assert.deepEqual(
    ["PodScheduled", "Initialized", "ContainersReady", "Ready"].map((type) => condition(first, type)),
    ["True", "True", "True", "True"],
  );
  assert.equal(etcdStatus(first)?.imageID, "process://etcd@3.6.16");
  assert.equal(etcdStatus(first)?.started, true);
  await put(first.status?.podIP ?? "");

  await fault.kill("default", "solo");
  const restarted = await eventually("the container was restarted", async () => {
    const now = await getPod("solo");
    return etcdStatus(now)?.restartCount === 1 && condition(now, "Ready") === "True" && now;
  });
  assert.equal(etcdStatus(restarted)?.lastState?.terminated?.exitCode, 137);
  assert.equal(etcdStatus(restarted)?.lastState?.terminated?.reason, "Error");
  assert.equal(restarted.status?.podIP, first.status?.podIP, "a restarted container keeps its Pod's address");
  assert.equal(await count(first.status?.podIP ?? ""), 1);

  const { containers } = await fault.look("default", "solo");
  await remove("solo");
  assert.equal(existsSync(`/proc/${containers[0]?.pid}`), false, "its process is gone with it");

  await bed.client.create(PODS, etcdPod("solo", volumes));
  const again = await ready("solo");
  assert.notEqual(again.metadata?.uid, first.metadata?.uid);
  assert.equal(await count(again.status?.podIP ?? ""), 1, "the claim's volume survived the Pod");
  await remove("solo");
});

test("an emptyDir survives a restart of its container and not the end of its Pod", async () => {
  const volumes = [{ name: "data", emptyDir: {} }];
  await bed.client.create(PODS, etcdPod("empty", volumes));
  let ip = (await ready("empty")).status?.podIP ?? "";
  await put(ip);
  await fault.kill("default", "empty", { signal: "SIGTERM" });
  await eventually("restarted", async () => etcdStatus(await getPod("empty"))?.restartCount === 1);
  await ready("empty");
  assert.equal(await count(ip), 1);
  await remove("empty");
  await bed.client.create(PODS, etcdPod("empty", volumes));
  ip = (await ready("empty")).status?.podIP ?? "";
  assert.equal(await count(ip), 0);
  await remove("empty");
});

test("a frozen etcd stops being ready and is restarted by its liveness probe", async () => {
  const frozen = etcdPod("frozen", [{ name: "data", emptyDir: {} }]);
  frozen.spec!.terminationGracePeriodSeconds = 1;
  await bed.client.create(PODS, frozen);
  await ready("frozen");
  await fault.freeze("default", "frozen");
  await eventually("not ready", async () => condition(await getPod("frozen"), "Ready") === "False");
  const back = await eventually("restarted by the liveness probe", async () => {
    const now = await getPod("frozen");
    return etcdStatus(now)?.restartCount === 1 && condition(now, "Ready") === "True" && now;
  });
  assert.equal(etcdStatus(back)?.lastState?.terminated?.exitCode, 137);
  await remove("frozen");
});

test("a lost volume is found empty after the restart", async () => {
  await claim("lost");
  await bed.client.create(
    PODS,
    etcdPod("lost", [{ name: "data", persistentVolumeClaim: { claimName: "lost" } }]),
  );
  const ip = (await ready("lost")).status?.podIP ?? "";
  await put(ip);
  await fault.loseVolume("default", "lost", "data");
  await eventually("restarted", async () => etcdStatus(await getPod("lost"))?.restartCount === 1);
  await ready("lost");
  assert.equal(await count(ip), 0);
  await remove("lost");
});

test("three members find each other by name, one to a zone", async () => {
  await bed.client.create("/api/v1/namespaces/default/services", {
    apiVersion: "v1",
    kind: "Service",
    metadata: { name: "trio" },
    spec: {
      clusterIP: "None",
      publishNotReadyAddresses: true,
      selector: { set: "trio" },
      ports: [{ port: 2380 }],
    },
  });
  const names = ["trio-0", "trio-1", "trio-2"];
  const url = (name: string) => `http://${name}.trio.default.svc:2380`;
  await Promise.all(
    names.map((name) => {
      const member = etcdPod(name, [{ name: "data", emptyDir: {} }]);
      member.metadata!.labels = { set: "trio" };
      member.spec!.hostname = name;
      member.spec!.subdomain = "trio";
      const labelSelector = { matchLabels: { set: "trio" } };
      member.spec!.affinity = {
        podAntiAffinity: {
          requiredDuringSchedulingIgnoredDuringExecution: [
            { labelSelector, topologyKey: "topology.kubernetes.io/zone" },
          ],
        },
      };
      const container = member.spec!.containers[0]!;
      container.args = [
        ...(container.args ?? []).filter((arg) => !arg.startsWith("--name=")),
        `--name=${name}`,
        `--initial-advertise-peer-urls=${url(name)}`,
        `--initial-cluster=${names.map((n) => `${n}=${url(n)}`).join(",")}`,
      ];
      return bed.client.create(PODS, member);
    }),
  );
  const members = await Promise.all(names.map(ready));
  assert.equal(new Set(members.map((m) => m.spec?.nodeName)).size, 3);
  await put(members[0]?.status?.podIP ?? "");
  assert.equal(await count(members[2]?.status?.podIP ?? ""), 1);
  await Promise.all(names.map((name) => remove(name)));
});

test("files of a Secret follow it while the Pod runs; variables do not", async () => {
  const secret = (value: string) => ({
    apiVersion: "v1",
    kind: "Secret",
    metadata: { name: "settings" },
    stringData: { "file.txt": value },
  });
  await bed.client.create("/api/v1/namespaces/default/secrets", secret("first"));
  const look = "while :; do cp /settings/file.txt /out/now; echo $SETTING > /out/env; sleep 0.05; done";
  await claim("out", "immediate");
  await bed.client.create(
    PODS,
    pod("reader", {
      volumes: [
        { name: "settings", secret: { secretName: "settings" } },
        { name: "out", persistentVolumeClaim: { claimName: "out" } },
      ],
      containers: [
        {
          name: "reader",
          image: "busybox",
          command: ["sh", "-c", look],
          env: [{ name: "SETTING", valueFrom: { secretKeyRef: { name: "settings", key: "file.txt" } } }],
          readinessProbe: { exec: { command: ["grep", "-q", "second", "/out/now"] }, periodSeconds: 1 },
          volumeMounts: [
            { name: "settings", mountPath: "/settings", readOnly: true },
            { name: "out", mountPath: "/out" },
          ],
        },
      ],
    }),
  );
  await eventually("it runs", async () => (await getPod("reader")).status?.phase === "Running");
  assert.equal(condition(await getPod("reader"), "Ready"), "False");
  await bed.client.replace("/api/v1/namespaces/default/secrets/settings", secret("second"));
  await ready("reader");
  const { spec } = await bed.client.get<{ spec: { volumeName: string } }>(`${CLAIMS}/out`);
  const seen = readFileSync(join(bedPaths(bed.name).kubelet, "volumes", spec.volumeName, "env"), "utf8");
  assert.equal(seen, "first\n");
  await remove("reader", { gracePeriodSeconds: 0 });
});

test("init containers run in order before the others, and a failing one holds them back", async () => {
  const run = (name: string, script: string) => ({
    name,
    image: "busybox",
    command: ["sh", "-c", script],
    volumeMounts: [{ name: "shared", mountPath: "/shared" }],
  });
  await bed.client.create(
    PODS,
    pod("ordered", {
      restartPolicy: "OnFailure",
      volumes: [{ name: "shared", emptyDir: {} }],
      initContainers: [
        run("one", "echo one >> /shared/order"),
        run("two", "[ -e /shared/tried ] || { touch /shared/tried; exit 1; }; echo two >> /shared/order"),
      ],
      containers: [run("main", "cat /shared/order > /dev/termination-log")],
    }),
  );
  const done = await eventually("it has ended", async () => {
    const now = await getPod("ordered");
    return now.status?.phase === "Succeeded" && now;
  });
  assert.deepEqual(
    done.status?.initContainerStatuses?.map((c) => [c.state?.terminated?.exitCode, c.restartCount]),
    [
      [0, 0],
      [0, 1],
    ],
  );
  const ended = etcdStatus(done)?.state?.terminated;
  assert.deepEqual([ended?.exitCode, ended?.reason, ended?.message], [0, "Completed", "one\ntwo\n"]);
  await remove("ordered");
});

test("a container that keeps failing is held back, and an unknown image is never started", async () => {
  await bed.client.create(
    PODS,
    pod("failing", { containers: [{ name: "c", image: "busybox", command: ["false"] }] }),
  );
  await bed.client.create(
    PODS,
    pod("unknown", { containers: [{ name: "c", image: "registry.example/nothing:v1" }] }),
  );
  const looping = await eventually("it is held back", async () => {
    const now = await getPod("failing");
    return (
      etcdStatus(now)?.state?.waiting?.reason === "CrashLoopBackOff" &&
      (etcdStatus(now)?.restartCount ?? 0) > 2 &&
      now
    );
  });
  assert.equal(looping.status?.phase, "Running");
  assert.equal(etcdStatus(looping)?.lastState?.terminated?.exitCode, 1);
  await eventually("the image is not found", async () => {
    const waiting = etcdStatus(await getPod("unknown"))?.state?.waiting;
    return waiting?.reason === "ImagePullBackOff" && /no image/.test(waiting.message ?? "");
  });
  assert.equal((await getPod("unknown")).status?.phase, "Pending");
  await Promise.all([remove("failing"), remove("unknown")]);
});

test("a claim grows where its class allows it, and its volume goes with it", async () => {
  interface Claim {
    spec: { volumeName: string };
    status: { capacity: { storage: string } };
  }
  await claim("grows", "immediate");
  const bound = await eventually("it is bound", async () => {
    const now = await bed.client.get<Claim>(`${CLAIMS}/grows`);
    return now.spec.volumeName && now.status.capacity && now;
  });
  await bed.client.patch(`${CLAIMS}/grows`, { spec: { resources: { requests: { storage: "2Gi" } } } });
  await eventually(
    "it has grown",
    async () => (await bed.client.get<Claim>(`${CLAIMS}/grows`)).status.capacity.storage === "2Gi",
  );
  await claim("fixed", "fixed");
  const grow = bed.client.patch(`${CLAIMS}/fixed`, { spec: { resources: { requests: { storage: "2Gi" } } } });
  await assert.rejects(grow, /forbidden|403/i);
  await bed.client.delete(`${CLAIMS}/grows`);
  const volume = `/api/v1/persistentvolumes/${bound.spec.volumeName}`;
  await eventually("the volume is gone", () =>
    bed.client.get(volume).then(
      () => false,
      (error: unknown) => isCode(error, 404),
    ),
  );
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
  await bed.client.create(PODS, made);
  const first = await ready("powerless");
  await put(first.status?.podIP ?? "");
  const node = first.spec?.nodeName ?? "";
  const nodeReady = async () => {
    const now = await bed.client.get<Pod>(`/api/v1/nodes/${node}`);
    return condition(now, "Ready");
  };
  await fault.crashNode(node);
  await assert.rejects(fetch(`http://${first.status?.podIP}:2379/version`));
  await eventually("the node is not ready", async () => (await nodeReady()) === "Unknown", {
    withinMs: 30_000,
  });
  await fault.startNode(node);
  const back = await eventually("its Pod runs again", async () => {
    const now = await getPod("powerless");
    return etcdStatus(now)?.restartCount === 1 && condition(now, "Ready") === "True" && now;
  });
  assert.equal(await nodeReady(), "True");
  assert.equal(await count(back.status?.podIP ?? ""), 1, "the disk kept its data");
  await fault.kill("default", "powerless", { signal: "SIGTERM" });
  const ended = await eventually("restarted in place", async () => {
    const now = await getPod("powerless");
    return etcdStatus(now)?.restartCount === 2 && now;
  });
  assert.equal(
    etcdStatus(ended)?.lastState?.terminated?.message,
    undefined,
    "the memory was empty after the crash",
  );
  await remove("powerless");
});
