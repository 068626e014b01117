/**
 * Whoever waits for a cluster waits for the right thing: kubectl wait, the columns of kubectl get, and tools that read a
 * status by the rules of kstatus, before the first look, in the midst of a rollout, and after it.
 */
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import type { EtcdCluster } from "../../src/api/etcd-cluster.ts";
import { CLUSTER_PHASES } from "../../src/api/status-words.ts";
import { eventually } from "../../testbed/eventually.ts";
import type { TestTestbed } from "../../testbed/for-tests.ts";
import { ClusterOnBed, startOperator, upWithDefinitions, type Running } from "../support/operator.ts";
import { kubectl } from "../testbed/on-nodes/support.ts";

let bed: TestTestbed;
let running: Running | undefined;
let demo: ClusterOnBed;

before(async () => {
  bed = await upWithDefinitions();
  demo = new ClusterOnBed(bed, "demo");
});

after(async () => {
  await running?.stop();
  await bed?.down();
});

const ready = (what: string, timeout: string) =>
  kubectl(bed.name, "wait", what, "--for=condition=Ready", `--timeout=${timeout}`);

/** What Flux, Helm and others make of a status. */
function kstatus({ metadata, status }: EtcdCluster): "InProgress" | "Failed" | "Current" | "Terminating" {
  if (metadata.deletionTimestamp !== undefined) return "Terminating";
  const { observedGeneration, conditions = [] } = status ?? {};
  if (observedGeneration !== undefined && observedGeneration !== metadata.generation) return "InProgress";
  for (const { type, status: is } of conditions) {
    if (type === "Reconciling" && is === "True") return "InProgress";
    if (type === "Stalled" && is === "True") return "Failed";
  }
  const found = conditions.find(({ type }) => type === "Ready");
  return found === undefined || found.status === "True" ? "Current" : "InProgress";
}

test("a cluster that no operator has seen yet is in progress, and nobody takes it for ready", async () => {
  await demo.create({ replicas: 3 });
  const cluster = await demo.get();
  assert.equal(cluster.status?.observedGeneration, -1);
  assert.equal(kstatus(cluster), "InProgress");
  const { code } = await ready("ec/demo", "1s");
  assert.notEqual(code, 0);
});

test("kubectl wait returns when all members of a new cluster serve", async () => {
  running = startOperator(bed);
  const { code, out } = await ready("ec/demo", "120s");
  assert.equal(code, 0, out);
  const cluster = await demo.get();
  assert.equal(cluster.status?.readyReplicas, 3);
  assert.equal(kstatus(cluster), "Current");
  // At first the data of all members is compared, which nobody has to wait for.
  assert.match(cluster.status?.phase ?? "", /^(?:Healthy|Maintaining)$/);
  await eventually("healthy", async () => (await demo.status()).phase === "Healthy", { withinMs: 30_000 });
});

test("an edit is in progress from its first moment until the last member runs with it", async () => {
  const operator = running ?? assert.fail("no operator");
  const seen = new Set<string>();
  const isApplied = async () =>
    (await demo.members()).every(({ spec }) => spec.template.options.snapshotCount === 5_000);
  await demo.edit({ options: { snapshotCount: 5_000 } });
  assert.equal(kstatus(await demo.get()), "InProgress", "before anybody can have looked");
  const waiting = ready("ec/demo", "180s");
  const look = eventually(
    "it is current",
    async () => {
      const cluster = await demo.get();
      const says = kstatus(cluster);
      seen.add(`${cluster.status?.phase} ${says}`);
      assert.ok(CLUSTER_PHASES.includes(cluster.status?.phase ?? "Unknown"));
      assert.notEqual(says, "Failed", cluster.status?.message);
      return says === "Current" ? await isApplied() : false;
    },
    { withinMs: 180_000, everyMs: 50 },
  );
  const { code, out } = await waiting;
  const status = await demo.status();
  const rolled = operator.steps.filter((step) => step.startsWith("UpdateMember/roll"));
  assert.equal(code, 0, out);
  assert.equal(rolled.length, 3, "after the last member");
  assert.deepEqual([status.updatedReplicas, status.readyReplicas], [3, 3]);
  assert.equal(await isApplied(), true);
  await look;
  assert.ok(seen.has("RollingOut InProgress"), [...seen].join(", "));
  assert.ok(
    ![...seen].some((one) => one.endsWith("Current") && !one.startsWith("Healthy")),
    [...seen].join(),
  );
});

test("a spec that is refused is failed, so that nobody waits for it in vain", async () => {
  await demo.edit({ version: "3.4.45" });
  await eventually("failed", async () => kstatus(await demo.get()) === "Failed", { withinMs: 30_000 });
  assert.equal(await demo.condition("Ready"), "False/VersionRefused");
  assert.equal((await demo.condition("Available")).split("/")[0], "True");
  await demo.edit({ version: "3.6.16" });
  assert.equal((await ready("ec/demo", "60s")).code, 0);
});

test("kubectl get has the condition, one word and a number; the sentence is wide", async () => {
  const { out } = await kubectl(bed.name, "get", "ec", "demo");
  const [header = "", row = ""] = out.trim().split("\n");
  assert.match(header, /^NAME +READY +PHASE +HEALTHY +REPLICAS +VERSION +LEADER +AGE$/);
  assert.match(row, /^demo +True +Healthy +3 +3 +3\.6\.16 +demo-\d /);
  assert.match((await kubectl(bed.name, "get", "ec", "-o", "wide")).out, /MESSAGE[^]*matches its spec/);
  const members = (await kubectl(bed.name, "get", "em")).out;
  assert.match(members, /^NAME +CLUSTER +READY +PHASE +ROLE +VERSION +AGE$/m);
  assert.match(members, /^demo-1 +demo +True +Healthy +(Leader|Follower) /m);
});

test("members can be waited for too, whatever generation their records have", async () => {
  const { code, out } = await kubectl(
    bed.name,
    "wait",
    "em",
    "--all",
    "--for=condition=Ready",
    "--timeout=30s",
  );
  assert.equal(code, 0, out);
});
