import assert from "node:assert/strict";
import { test } from "node:test";
import type { Pass } from "../../control/loop.ts";
import type { Failure } from "../../control/retries.ts";
import { decide } from "../../core/decide.ts";
import type { Observation } from "../../core/observation.ts";
import { statusOf } from "../../core/status/status.ts";
import { asked, edit, healthy, NOW } from "../../core/testing/cluster.ts";
import { scheduleNamed } from "../../core/testing/snapshots.ts";
import { ManualClock } from "../../kube/testing.ts";
import { OperatorMetrics } from "./metrics.ts";

const FACTS = {
  cpuSeconds: 1.5,
  startedAt: 1_700_000_000_000,
  residentBytes: 4_096,
  heapTotalBytes: 2_048,
  heapUsedBytes: 1_024,
  externalBytes: 512,
  nodeVersion: "v24.0.0",
};

function made() {
  const clock = new ManualClock();
  const metrics = new OperatorMetrics({ clock, version: "1.2.3", process: () => FACTS });
  const lines = () =>
    metrics
      .text()
      .split("\n")
      .filter((line) => line !== "" && !line.startsWith("#"));
  const value = (series: string) => {
    const line = lines().find((candidate) => candidate.startsWith(`${series} `));
    return line === undefined ? undefined : Number(line.slice(series.length + 1));
  };
  return { clock, metrics, lines, value };
}

function passOf(observation: Observation, change: Partial<Pass> = {}): Pass {
  const decision = decide(observation);
  const expiry = Object.fromEntries(observation.members.map(({ record }) => [record.name, NOW + 3_600_000]));
  const status = statusOf(observation, decision, undefined, {
    certificates: { expiry, problems: [], all: [{ name: "peer CA", expires: NOW + 3_600_000 }] },
  });
  return { number: 1, observation, decision, problems: [], status, ...change };
}

const DEMO = 'namespace="default",cluster="demo"';

test("a pass is told by what came of it, the decision by its rule and kind of step", () => {
  const { metrics, value } = made();
  metrics.onPass(passOf(asked()));
  metrics.onPass(passOf(healthy()));
  metrics.onPass(passOf(edit(healthy(), { paused: true })));
  assert.equal(value('quorate_passes_total{result="acted"}'), 1);
  assert.equal(value('quorate_passes_total{result="converged"}'), 1);
  assert.equal(value('quorate_passes_total{result="waiting"}'), 1);
  assert.equal(value('quorate_decisions_total{rule="first-boot",step="CreateMember"}'), 1);
});

test("a wait is counted when it begins, and shown while it lasts", () => {
  const { metrics, value } = made();
  const paused = passOf(edit(healthy(), { paused: true }));
  metrics.onPass(paused);
  metrics.onPass(paused);
  assert.equal(value('quorate_waits_total{reason="Paused"}'), 1);
  assert.equal(value('quorate_clusters_waiting{reason="Paused"}'), 1);
  metrics.onPass(passOf(healthy()));
  assert.equal(value('quorate_clusters_waiting{reason="Paused"}'), undefined);
  metrics.onPass(paused);
  assert.equal(value('quorate_waits_total{reason="Paused"}'), 2);
});

test("a step that failed is counted once for each try, one that was done by the transcript", () => {
  const { metrics, value } = made();
  const failure: Failure = {
    kind: "Promote",
    step: "Promote",
    message: "no",
    attempts: 1,
    repeated: false,
    retryAt: NOW + 200,
  };
  metrics.onPass(passOf(asked(), { failure }));
  metrics.onPass(passOf(asked(), { failure }));
  metrics.onPass(passOf(asked(), { failure: { ...failure, attempts: 2 } }));
  metrics.onStep({ kind: "Promote", error: "no" });
  metrics.onStep({ kind: "Promote" });
  metrics.onStep({ kind: "UpdateMember" });
  assert.equal(value('quorate_steps_total{step="Promote",result="failed"}'), 2);
  assert.equal(value('quorate_steps_total{step="Promote",result="done"}'), 1);
  assert.equal(value('quorate_steps_total{step="UpdateMember",result="done"}'), 1);
  assert.equal(value('quorate_membership_changes_total{kind="promote"}'), 1);
  assert.equal(value('quorate_membership_changes_total{kind="remove"}'), 0);
});

test("a cluster is told by members, health, sizes, lag, revision, certificates, conditions and write gap", () => {
  const { metrics, clock, value } = made();
  clock.jump(NOW - clock.now());
  metrics.onPass(passOf(healthy({ replicas: 3 })));
  assert.equal(value(`quorate_cluster_members{${DEMO},role="leader"}`), 1);
  assert.equal(value(`quorate_cluster_members{${DEMO},role="follower"}`), 2);
  assert.equal(value(`quorate_cluster_members{${DEMO},role="learner"}`), 0);
  assert.equal(value(`quorate_cluster_desired_voters{${DEMO}}`), 3);
  assert.equal(value(`quorate_cluster_healthy_voters{${DEMO}}`), 3);
  assert.equal(value(`quorate_cluster_condition{${DEMO},condition="Available"}`), 1);
  assert.equal(value(`quorate_cluster_condition{${DEMO},condition="Degraded"}`), 0);
  assert.equal(value(`quorate_member_healthy{${DEMO},member="demo-2"}`), 1);
  assert.equal(value(`quorate_member_raft_lag_entries{${DEMO},member="demo-2"}`), 0);
  assert.equal(value(`quorate_member_certificate_expiry_seconds{${DEMO},member="demo-2"}`), 3_600);
  assert.equal(value(`quorate_certificate_expiry_seconds{${DEMO},certificate="peer CA"}`), 3_600);
  for (const name of ["member_db_size_bytes", "member_db_in_use_bytes"])
    assert.equal(typeof value(`quorate_${name}{${DEMO},member="demo-1"}`), "number", name);
});

test("how far apart snapshots are, and how long a restore takes, is in seconds; and nothing where it is not known", () => {
  const { metrics, value } = made();
  const passWith = (status: ReturnType<typeof scheduleNamed>["status"]) =>
    passOf({ ...healthy(), snapshots: { snapshots: [], schedules: [scheduleNamed("nightly", { status })] } });
  const of = (name: string) => value(`quorate_snapshot_${name}{${DEMO},schedule="nightly"}`);
  metrics.onPass(passWith({ rpo: "24h0m30s", rto: "1m4s" }));
  assert.deepEqual([of("rpo_seconds"), of("restore_seconds")], [86_430, 64]);
  metrics.onPass(passWith({}));
  assert.deepEqual([of("rpo_seconds"), of("restore_seconds")], [undefined, undefined]);
});

test("a change of leader is counted, its absence is not", () => {
  const { metrics, value } = made();
  const pass = passOf(healthy());
  const { leader: _, ...without } = pass.status;
  const led = (leader: string) => ({ ...pass, status: { ...pass.status, leader } });
  metrics.onPass(led("demo-1"));
  metrics.onPass({ ...pass, status: without });
  metrics.onPass(led("demo-1"));
  assert.equal(value(`quorate_cluster_leader_changes_total{${DEMO}}`), 0);
  metrics.onPass(led("demo-2"));
  assert.equal(value(`quorate_cluster_leader_changes_total{${DEMO}}`), 1);
});

test("the series of a deleted cluster and of a removed member vanish", () => {
  const { metrics, lines } = made();
  metrics.onPass(passOf(healthy({ replicas: 3 })));
  metrics.onPass(passOf(healthy({ replicas: 1 })));
  assert.equal(lines().filter((line) => line.includes('member="demo-3"')).length, 0);
  assert.ok(lines().some((line) => line.includes('cluster="demo"')));
  metrics.forget("default/demo");
  assert.deepEqual(
    lines().filter((line) => line.includes("demo")),
    [],
  );
  assert.ok(lines().includes("quorate_clusters 0"));
});

test("calls to the API server are told by verb, resource and status, with their time", () => {
  const { metrics, value } = made();
  metrics.onCall({ verb: "create", resource: "pods", status: 201, ms: 4 });
  metrics.onCall({ verb: "create", resource: "pods", status: undefined, ms: 10_000 });
  assert.equal(value('quorate_api_calls_total{verb="create",resource="pods",code="201"}'), 1);
  assert.equal(value('quorate_api_calls_total{verb="create",resource="pods",code="none"}'), 1);
  assert.equal(value('quorate_api_call_duration_seconds_bucket{verb="create",le="0.005"}'), 1);
  assert.equal(value('quorate_api_call_duration_seconds_count{verb="create"}'), 2);
});

test("a reconcile is timed, whether it ends well or not", async () => {
  const { metrics, clock, value } = made();
  const slow = metrics.timed(async (key: string) => {
    await clock.advance(300);
    if (key === "bad") throw new Error("no");
    return { againMs: 7 };
  });
  assert.deepEqual(await slow("good"), { againMs: 7 });
  await assert.rejects(slow("bad"), /no/);
  assert.equal(value('quorate_reconcile_duration_seconds_count{result="ok"}'), 1);
  assert.equal(value('quorate_reconcile_duration_seconds_sum{result="error"}'), 0.3);
});

test("queue, caches, lease and process are read when they are asked for", () => {
  const { metrics, value } = made();
  metrics.watch({
    queue: { depth: 2, running: 1, longestRunMs: 1_500, longestWaitMs: 2_500 },
    leads: () => true,
    lagMs: () => 20,
    stores: () => [
      ["pods", true],
      ["secrets", false],
    ],
  });
  assert.equal(value("quorate_queue_depth"), 2);
  assert.equal(value("quorate_queue_running"), 1);
  assert.equal(value("quorate_queue_oldest_wait_seconds"), 2.5);
  assert.equal(value("quorate_reconcile_longest_running_seconds"), 1.5);
  assert.equal(value("quorate_lease_held"), 1);
  assert.equal(value("nodejs_eventloop_lag_seconds"), 0.02);
  assert.equal(value("process_resident_memory_bytes"), 4_096);
  assert.equal(value("process_cpu_seconds_total"), 1.5);
  assert.equal(value("process_start_time_seconds"), 1_700_000_000);
  assert.equal(value("nodejs_heap_size_used_bytes"), 1_024);
  assert.equal(value('nodejs_version_info{version="v24.0.0"}'), 1);
  assert.equal(value('quorate_stores_in_step{resource="secrets"}'), 0);
  assert.equal(value('quorate_build_info{version="1.2.3"}'), 1);
});
