/** Schedules that record changes, on the real operator: their followers are models that run until they are stopped. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { EtcdSnapshotSchedule } from "../../src/api/etcd-snapshot-schedule.ts";
import { API_VERSION } from "../../src/api/metadata.ts";
import { LABELS } from "../../src/operator/names.ts";
import type { EffectPlan } from "./effects.ts";
import { pods } from "../models/kube/kinds/pod.ts";
import { etcdSnapshots, etcdSnapshotSchedules, NAME, NAMESPACE } from "./environment.ts";
import { wrongWith } from "./judge.ts";
import { OperatorSimulation } from "./simulation.ts";

const SCHEDULES = `/apis/${API_VERSION}/namespaces/${NAMESPACE}/etcdsnapshotschedules`;
const SPEC = { replicas: 1, version: "3.6.16" };

function plan(sim: OperatorSimulation, spec: object = {}): void {
  const body = {
    apiVersion: API_VERSION,
    kind: "EtcdSnapshotSchedule",
    metadata: { name: "often", namespace: NAMESPACE },
    spec: {
      cluster: NAME,
      schedule: "0 0 1 1 *",
      destination: { s3: { bucket: "backups" } },
      incremental: { interval: "10s" },
      ...spec,
    },
  };
  const { status, body: answer } = sim.user({ method: "POST", path: SCHEDULES, body });
  assert.equal(status, 201, JSON.stringify(answer));
}

function edit(sim: OperatorSimulation, spec: object): void {
  const contentType = "application/merge-patch+json";
  const { status } = sim.user({ method: "PATCH", path: `${SCHEDULES}/often`, body: { spec }, contentType });
  assert.equal(status, 200);
}

async function settled(effects?: EffectPlan): Promise<OperatorSimulation> {
  const sim = new OperatorSimulation(SPEC, { seed: 5, ...(effects && { effects }) });
  await sim.settle();
  return sim;
}

const scheduleOf = ({ env }: OperatorSimulation) =>
  env.server.list(etcdSnapshotSchedules)[0] as unknown as EtcdSnapshotSchedule | undefined;
const recordedOf = (sim: OperatorSimulation) => scheduleOf(sim)?.status?.incremental;
const followerPods = ({ env }: OperatorSimulation) =>
  env.server.list(pods).filter(({ metadata }) => metadata.labels?.[LABELS.task] === "follow");
const snapshotCount = ({ env }: OperatorSimulation) => env.server.list(etcdSnapshots).length;

test("a schedule that records changes has one follower, takes the snapshot that it begins with, and tells how far it is", async () => {
  const sim = await settled();
  plan(sim);
  await sim.pass(90_000);
  assert.deepEqual([sim.env.snapshots.followers.length, snapshotCount(sim)], [1, 1]);
  const recorded = recordedOf(sim);
  assert.equal(recorded?.reason, "Following", JSON.stringify(recorded));
  assert.equal(recorded.follower, sim.env.snapshots.followers[0]);
  assert.equal(recorded.revision, 8);
  const condition = scheduleOf(sim)?.status?.conditions?.find(({ type }) => type === "Following");
  assert.equal(condition?.status, "True");
  // The status follows, and nothing else happens.
  const before = sim.effects.names.length;
  await sim.pass(30 * 60_000);
  const writes = sim.effects.names.slice(before).filter((name) => !name.includes("etcdclusters"));
  assert.ok(writes.length <= 31 && writes.every((name) => name.includes("schedules")), writes.join("\n"));
  assert.ok(Date.parse(recordedOf(sim)?.time ?? "") > Date.parse(recorded.time ?? ""));
  assert.deepEqual(wrongWith(sim), []);
});

test("a new snapshot is taken when the follower cannot go on without one, and not more often than it helps", async () => {
  const sim = await settled();
  plan(sim);
  await sim.pass(6 * 60_000);
  sim.env.snapshots.needsBase = "compacted";
  await sim.pass(12_000);
  await sim.pass(60_000);
  assert.equal(snapshotCount(sim), 2);
  assert.equal(recordedOf(sim)?.reason, "Following");
  sim.env.snapshots.needsBase = "auth";
  await sim.pass(60_000);
  assert.deepEqual([snapshotCount(sim), recordedOf(sim)?.reason], [2, "AwaitingBase"]);
  // Twice the time between the first two.
  await sim.pass(13 * 60_000);
  assert.deepEqual([snapshotCount(sim), recordedOf(sim)?.reason], [3, "Following"]);
});

test("it is replaced when its spec changes, and stopped with the schedule and with the cluster", async () => {
  const sim = await settled();
  plan(sim);
  await sim.pass(60_000);
  const [first] = sim.env.snapshots.followers;
  const uid = followerPods(sim)[0]?.metadata.uid;
  edit(sim, { incremental: { interval: "20s" } });
  await sim.pass(60_000);
  assert.equal(followerPods(sim).length, 1);
  assert.notEqual(followerPods(sim)[0]?.metadata.uid, uid);
  assert.equal(sim.env.snapshots.mostFollowers, 1);
  edit(sim, { suspend: true });
  await sim.pass(60_000);
  assert.deepEqual([followerPods(sim).length, recordedOf(sim)?.reason], [0, "NotFollowing"]);
  assert.ok(recordedOf(sim)?.time, "what was recorded is still told");
  edit(sim, { suspend: false });
  await sim.pass(60_000);
  assert.equal(followerPods(sim).length, 1);
  sim.edit({ replicas: 0 });
  await sim.pass(120_000);
  assert.equal(followerPods(sim).length, 0);
  sim.edit({ replicas: 1 });
  await sim.pass(120_000);
  assert.equal(followerPods(sim).length, 1, first);
  edit(sim, { incremental: null });
  await sim.pass(60_000);
  assert.deepEqual([followerPods(sim).length, recordedOf(sim)], [0, undefined]);
  edit(sim, { incremental: {} });
  await sim.pass(60_000);
  assert.equal(followerPods(sim).length, 1);
  sim.user({ method: "DELETE", path: `${SCHEDULES}/often` });
  await sim.pass(60_000);
  assert.equal(followerPods(sim).length, 0);
});

test("one that ends is started again, and how it ended is told", async () => {
  const sim = await settled();
  sim.env.snapshots.followFaults.push("ends", "ends", "ends");
  plan(sim);
  const until = async (reason: string) => {
    for (let waited = 0; recordedOf(sim)?.reason !== reason; waited++) {
      assert.ok(waited < 300, JSON.stringify(recordedOf(sim)));
      await sim.pass(1_000);
    }
  };
  await until("FollowerFailed");
  assert.match(recordedOf(sim)?.message ?? "", /the store said no/);
  await until("Following");
});

test("one that nodes evict again and again is made anew ever more seldom, and records once they stop", async () => {
  const sim = await settled();
  plan(sim);
  const made = new Set<string>();
  for (let i = 0; i < 200; i++) {
    const running = followerPods(sim).filter(
      ({ status }) => (status as { phase?: string })?.phase === "Running",
    );
    for (const { metadata } of running) {
      made.add(metadata.uid);
      sim.env.nodes.evict(`${NAMESPACE}/${metadata.name}`);
    }
    await sim.pass(500);
  }
  assert.ok(made.size >= 3 && made.size <= 5, `${made.size} Pods in 100 seconds`);
  assert.equal(recordedOf(sim)?.reason, "FollowerFailed");
  assert.match(recordedOf(sim)?.message ?? "", /the next one is created at/);
  await sim.pass(5 * 60_000);
  assert.equal(recordedOf(sim)?.reason, "Following");
  assert.equal(followerPods(sim).length, 1, "and what had ended is gone");
  assert.deepEqual(wrongWith(sim), []);
});

const FAULTS = ["crash-before", "crash-after", "reply-lost"] as const;

test("the operator dies around each effect for a follower, and there is one in the end, as its spec says", async () => {
  const play = async (effects?: EffectPlan) => {
    const sim = await settled(effects);
    const from = sim.effects.names.length;
    plan(sim);
    await sim.pass(60_000);
    edit(sim, { incremental: { interval: "20s" } });
    await sim.pass(90_000);
    const ends = [followerPods(sim).length, snapshotCount(sim), recordedOf(sim)?.reason];
    return { sim, from, ends };
  };
  const usual = await play();
  assert.deepEqual(usual.ends, [1, 1, "Following"]);
  const { names } = usual.sim.effects;
  const about = names.flatMap((name, index) =>
    index >= usual.from && / pods |POST serviceaccounts|POST etcdsnapshots/.test(name) ? [index + 1] : [],
  );
  assert.ok(about.length >= 5, names.slice(usual.from).join("\n"));
  for (const number of about)
    for (const fault of names[number - 1]?.startsWith("POST pods") ? FAULTS : (["crash-after"] as const)) {
      const { sim, ends } = await play(new Map([[number, fault]]));
      assert.deepEqual(
        ends,
        usual.ends,
        `${fault} at ${names[number - 1]}: ${sim.lines.slice(-5).join("\n")}`,
      );
      assert.ok(sim.env.snapshots.mostFollowers <= 1);
    }
});
