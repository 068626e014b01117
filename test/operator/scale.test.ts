/**
 * Any size from any size, by the spec, by kubectl and by an autoscaler, while an application writes, reads and watches.
 */
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { API_VERSION } from "../../src/api/metadata.ts";
import { eventually } from "../../testbed/eventually.ts";
import type { TestTestbed } from "../../testbed/for-tests.ts";
import { kubectl } from "../testbed/on-nodes/support.ts";
import { PATHS } from "../support/kube-paths.ts";
import { ClusterOnBed, startOperator, upWithDefinitions, type Running } from "../support/operator.ts";
import { OperatorChecker } from "../support/operator-checker.ts";

const AUTOSCALERS = "/apis/autoscaling/v2/namespaces/default/horizontalpodautoscalers";

let bed: TestTestbed;
let running: Running;
let cluster: ClusterOnBed;
/** It is scaled by an autoscaler, which takes its time, beside all that happens to the other one. */
let auto: ClusterOnBed;

before(async () => {
  bed = await upWithDefinitions();
  running = startOperator(bed);
  cluster = new ClusterOnBed(bed, "demo", running);
  auto = new ClusterOnBed(bed, "auto", running);
  await Promise.all([cluster.create({ replicas: 1 }), auto.create({ replicas: 1 })]);
  await cluster.converged(1);
  await bed.client.create(AUTOSCALERS, {
    apiVersion: "autoscaling/v2",
    kind: "HorizontalPodAutoscaler",
    metadata: { name: "auto" },
    spec: {
      scaleTargetRef: { apiVersion: API_VERSION, kind: "EtcdCluster", name: "auto" },
      minReplicas: 3,
      maxReplicas: 5,
      metrics: [
        {
          type: "Resource",
          resource: { name: "cpu", target: { type: "Utilization", averageUtilization: 80 } },
        },
      ],
    },
  });
});

after(async () => {
  await Promise.all([cluster?.close(), auto?.close()]);
  await running?.stop();
  await bed?.down();
});

test("1 → 3 → 5 → 3 → 1 under an application: nothing acknowledged is lost", async (t) => {
  await using checker = await OperatorChecker.start(cluster);
  for (const replicas of [3, 5, 3, 1]) {
    const began = Date.now();
    await cluster.edit({ replicas });
    await cluster.converged(replicas);
    t.diagnostic(`${replicas} members after ${Date.now() - began} ms`);
    const before = checker.acknowledged;
    await eventually("writes go on", () => checker.acknowledged > before);
    assert.equal((await cluster.members()).length, replicas);
  }
  const report = await checker.judged();
  t.diagnostic(`longest write gap ${Math.round(report.longestWriteGapMs)} ms`);
  await cluster.assertSound(1);
  await eventually(
    "storage.retention.onScaleIn is Delete",
    async () => (await cluster.claims()).length === 1,
  );
});

/** What it printed, in a word or two; it went well. */
async function ask(...args: string[]): Promise<string> {
  const { code, out } = await kubectl(bed.name, ...args);
  assert.equal(code, 0, `kubectl ${args.join(" ")}: ${out}`);
  return out.trim();
}

test("kubectl scales a cluster, waits for it, and lists just its voters by the selector of its scale", async () => {
  const refused = await kubectl(
    bed.name,
    "scale",
    "etcdcluster/demo",
    "--current-replicas=3",
    "--replicas=5",
  );
  assert.notEqual(refused.code, 0, "there is one");
  await ask("scale", "etcdcluster/demo", "--current-replicas=1", "--replicas=3");
  await eventually(
    "kubectl has waited for it",
    async () => {
      const three = "--for=jsonpath={.status.readyReplicas}=3";
      return (await kubectl(bed.name, "wait", three, "ec/demo", "--timeout=30s")).code === 0;
    },
    { withinMs: 120_000 },
  );
  // As the README has it.
  await ask("wait", "--for=condition=Available", "etcdcluster/demo", "--timeout=30s");
  await cluster.converged(3);
  const { status } = await bed.client.get<{ status: { replicas: number; selector: string } }>(
    `${PATHS.clusters}/demo/scale`,
  );
  assert.equal(status.replicas, 3);
  const pods = await ask("get", "pods", "--selector", status.selector, "--output", "name");
  const members = await ask(
    "get",
    "etcdmembers",
    "--selector",
    "etcd.quorate.dev/cluster=demo",
    "-o",
    "name",
  );
  assert.deepEqual(
    pods.split("\n").map((name) => name.split("/")[1]),
    members.split("\n").map((name) => name.split("/")[1]),
  );
  assert.match(await ask("get", "ec", "demo", "--no-headers"), /^demo\s/);
});

test("standing learners join with a Service of their own, and leave with it", async () => {
  await cluster.edit({ learners: 1 });
  await eventually(
    "a learner is ready",
    async () => {
      const { members, conditions } = await cluster.status();
      const rests = conditions?.some(({ reason }) => reason === "Converged");
      return rests && members?.some(({ role, healthy }) => role === "Learner" && healthy);
    },
    { withinMs: 60_000 },
  );
  await bed.client.get(`${PATHS.services}/demo-learners`);
  await cluster.edit({ learners: 0 });
  await cluster.converged(3);
  await eventually("four members are three again", async () => (await cluster.members()).length === 3);
  await cluster.gone(`${PATHS.services}/demo-learners`);
});

test("hibernated at 0, every copy is kept; awake again, the data is there", async () => {
  const client = await cluster.etcd();
  await client.kv.put("kept", "yes", { timeoutMs: 5_000 });
  const before = (await cluster.members()).map(({ spec }) => spec.memberID);
  await cluster.edit({ replicas: 0 });
  await eventually("no Pod is left", async () => (await cluster.pods()).length === 0, { withinMs: 60_000 });
  await eventually("hibernated", async () => (await cluster.condition("Ready")) === "False/Hibernated", {
    withinMs: 60_000,
  });
  assert.equal((await cluster.claims()).length, 3);
  await cluster.edit({ replicas: 3 });
  await cluster.converged(3);
  assert.deepEqual(
    (await cluster.members()).map(({ spec }) => spec.memberID),
    before,
  );
  const found = await (await cluster.etcd()).kv.range("kept", { timeoutMs: 5_000 });
  assert.equal(found.kvs.length, 1);
});

test("an autoscaler reads the scale, sets it, and knows the Pods whose load it would look at", async () => {
  await auto.converged(3);
  interface Autoscaler {
    readonly status?: {
      readonly currentReplicas?: number;
      readonly conditions?: readonly { type: string; status: string; reason: string; message: string }[];
    };
  }
  await eventually(
    "it has looked at the load",
    async () => {
      const { status } = await bed.client.get<Autoscaler>(`${AUTOSCALERS}/auto`);
      const known = (type: string) => status?.conditions?.find((condition) => condition.type === type);
      assert.equal(known("AbleToScale")?.status, "True", JSON.stringify(status));
      // It found the Pods by the selector; that nobody measures them here is the testbed's lack.
      assert.equal(known("ScalingActive")?.reason, "FailedGetResourceMetric", JSON.stringify(status));
      return status?.currentReplicas === 3;
    },
    { withinMs: 120_000, everyMs: 500 },
  );
  await auto.assertSound(3);
});
