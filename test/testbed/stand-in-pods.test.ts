/**
 * The stand-in kubelet runs Pods as a kubelet would: names, files, order, back-off.
 */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { eventually } from "../../testbed/eventually.ts";
import { upForTests } from "../../testbed/for-tests.ts";
import type { TestTestbed } from "../../testbed/for-tests.ts";
import { registerImage } from "../../testbed/kubelet/images.ts";
import { bedPaths } from "../../testbed/paths.ts";
import { ownedProcesses } from "../../testbed/processes.ts";
import { up } from "../../testbed/testbed.ts";
import { CLAIMS, condition, count, etcdPod, firstContainer, pod, Pods, put } from "../support/pods.ts";

let bed: TestTestbed;
let pods: Pods;

before(async () => {
  bed = await upForTests({ kubelet: "process", backoffMs: { first: 200, max: 1000 } });
  pods = new Pods(bed.client);
});

after(async () => {
  await bed?.down();
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
      return pods.create(member);
    }),
  );
  const members = await Promise.all(names.map((name) => pods.ready(name)));
  assert.equal(new Set(members.map((m) => m.spec?.nodeName)).size, 3);
  await put(members[0]?.status?.podIP ?? "");
  assert.equal(await count(members[2]?.status?.podIP ?? ""), 1);
  await Promise.all(names.map((name) => pods.remove(name)));
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
  await pods.claim("out", "immediate");
  await pods.create(
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
  await eventually("it runs", async () => (await pods.get("reader")).status?.phase === "Running");
  assert.equal(condition(await pods.get("reader"), "Ready"), "False");
  await bed.client.replace("/api/v1/namespaces/default/secrets/settings", secret("second"));
  await pods.ready("reader");
  const { spec } = await bed.client.get<{ spec: { volumeName: string } }>(`${CLAIMS}/out`);
  const env = join(bedPaths(bed.name).kubelet, "volumes", spec.volumeName, "env");
  // Empty for a moment each time it is written.
  const seen = await eventually("the variable is reported", () => readFileSync(env, "utf8"));
  assert.equal(seen, "first\n");
  await pods.remove("reader", { gracePeriodSeconds: 0 });
});

test("init containers run in order before the others, and a failing one holds them back", async () => {
  const run = (name: string, script: string) => ({
    name,
    image: "busybox",
    command: ["sh", "-c", script],
    volumeMounts: [{ name: "shared", mountPath: "/shared" }],
  });
  await pods.create(
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
    const now = await pods.get("ordered");
    return now.status?.phase === "Succeeded" && now;
  });
  assert.deepEqual(
    done.status?.initContainerStatuses?.map((c) => [c.state?.terminated?.exitCode, c.restartCount]),
    [
      [0, 0],
      [0, 1],
    ],
  );
  const ended = firstContainer(done)?.state?.terminated;
  assert.deepEqual([ended?.exitCode, ended?.reason, ended?.message], [0, "Completed", "one\ntwo\n"]);
  await pods.remove("ordered");
});

test("a container that keeps failing is held back, and an unknown image is never started", async () => {
  await pods.create(pod("failing", { containers: [{ name: "c", image: "busybox", command: ["false"] }] }));
  await pods.create(pod("unknown", { containers: [{ name: "c", image: "registry.example/nothing:v1" }] }));
  const looping = await eventually("it is held back", async () => {
    const now = await pods.get("failing");
    return (
      firstContainer(now)?.state?.waiting?.reason === "CrashLoopBackOff" &&
      (firstContainer(now)?.restartCount ?? 0) > 2 &&
      now
    );
  });
  assert.equal(looping.status?.phase, "Running");
  assert.equal(firstContainer(looping)?.lastState?.terminated?.exitCode, 1);
  await eventually("the image is not found", async () => {
    const waiting = firstContainer(await pods.get("unknown"))?.state?.waiting;
    return waiting?.reason === "ImagePullBackOff" && /no image/.test(waiting.message ?? "");
  });
  assert.equal((await pods.get("unknown")).status?.phase, "Pending");
  await Promise.all([pods.remove("failing"), pods.remove("unknown")]);
});

test("a registered image stands for a program of this machine", async () => {
  registerImage(bed.name, "registry.example/own:dev", {
    mounts: { "/app": import.meta.dirname },
    entrypoint: ["sh", "-c"],
    cmd: ["ls /app > /dev/termination-log; echo $GREETING >> /dev/termination-log"],
    env: { GREETING: "hello" },
  });
  await pods.create(
    pod("own", { restartPolicy: "Never", containers: [{ name: "c", image: "registry.example/own:dev" }] }),
  );
  const done = await eventually("it has ended", async () => {
    const now = await pods.get("own");
    return now.status?.phase === "Succeeded" && now;
  });
  const message = firstContainer(done)?.state?.terminated?.message ?? "";
  assert.match(message, /stand-in-pods\.test\.ts/);
  assert.match(message, /hello\n$/);
  await pods.remove("own");
});

test("a Pod finds the token, the CA and the namespace of its service account", async () => {
  const script = [
    "cd /var/run/secrets/kubernetes.io/serviceaccount",
    "wc -c token ca.crt namespace > /dev/termination-log",
    '[ $(cat namespace) = default ] && [ -n "$KUBERNETES_SERVICE_HOST" ]',
  ].join("; ");
  await pods.create(
    pod("account", {
      restartPolicy: "Never",
      containers: [{ name: "c", image: "busybox", command: ["sh", "-c", script] }],
    }),
  );
  const done = await eventually("it has ended", async () => {
    const now = await pods.get("account");
    return ["Succeeded", "Failed"].includes(now.status?.phase ?? "") && now;
  });
  assert.equal(done.status?.phase, "Succeeded", firstContainer(done)?.state?.terminated?.message);
  await pods.remove("account");
});

test("a process that the stand-in left behind is ended when it starts again, and its Pod goes on", async () => {
  await pods.create(etcdPod("left", [{ name: "data", emptyDir: {} }]));
  const first = await pods.ready("left");
  await put(first.status?.podIP ?? "");
  const { dir } = bedPaths(bed.name);
  const kubelet = ownedProcesses(dir).find((p) => p.role === "kubelet");
  assert.ok(kubelet);
  process.kill(kubelet.pid, "SIGKILL");
  await eventually("the stand-in is gone", () => !ownedProcesses(dir).some((p) => p.role === "kubelet"));
  assert.equal(await count(first.status?.podIP ?? ""), 1, "the container outlives its kubelet");
  (await up({ name: bed.name })).client.close();
  const back = await pods.restarted("left", 1);
  assert.equal(await count(back.status?.podIP ?? ""), 1);
  assert.equal(ownedProcesses(dir).filter((p) => p.role === "container default/left/etcd").length, 1);
  await pods.remove("left");
});
