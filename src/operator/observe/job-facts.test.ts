import assert from "node:assert/strict";
import { test } from "node:test";
import type { Job } from "kubernetes-types/batch/v1.d.ts";
import type { ContainerState, Pod } from "kubernetes-types/core/v1.d.ts";
import type { Destination } from "../../api/destination.ts";
import { writeResult, type JobResult } from "../../snapshot/result.ts";
import { LABELS } from "../names.ts";
import { jobFacts, type Transfers } from "./job-facts.ts";

const NOW = Date.parse("2026-01-01T00:01:00Z");
const AT = "2026-01-01T00:00:50Z";

function jobWith(type?: string, reason?: string): Job {
  return {
    metadata: { name: "a-save", uid: "job-uid", labels: { [LABELS.task]: "save", [LABELS.attempt]: "2" } },
    status: {
      ...(type && {
        conditions: [{ type, status: "True", lastTransitionTime: AT, ...(reason && { reason }) }],
      }),
    },
  } as Job;
}

function podWith(state: ContainerState, name = "a-save-x", creationTimestamp = AT): Pod {
  const ownerReferences = [
    { apiVersion: "batch/v1", kind: "Job", name: "a", uid: "job-uid", controller: true },
  ];
  return {
    metadata: { name, creationTimestamp, ownerReferences },
    status: { containerStatuses: [{ name: "snapshot", state } as never] },
  } as Pod;
}

const ended = (result: JobResult | undefined, exitCode = 0): ContainerState => ({
  terminated: { exitCode, reason: "Error", ...(result && { message: writeResult(result) }) },
});

const SNAPSHOT = {
  object: "a.db",
  size: 5,
  storedSize: 5,
  sha256: "f".repeat(64),
  revision: 3,
  etcdVersion: "3.6.16",
  clusterID: "abc",
  takenFrom: "demo-1",
};

const stateOf = (
  job: Job,
  pods: readonly Pod[],
  destination: Destination = { pvc: { claimName: "backups", path: "prod" } },
  transfers?: Transfers,
) => jobFacts(job, pods, { destination }, { now: NOW, transfers })?.state;

test("a Job that is complete tells what the Pod wrote at its end, with a place that people know", () => {
  const state = stateOf(jobWith("Complete"), [podWith(ended({ ok: true, snapshot: SNAPSHOT }))]);
  assert.ok(state?.is === "succeeded");
  const { object: _, ...facts } = SNAPSHOT;
  assert.deepEqual(state, {
    is: "succeeded",
    agoMs: 10_000,
    taken: { ...facts, uri: "pvc://backups/prod/a.db" },
  });
  assert.deepEqual(stateOf(jobWith("Complete"), []), { is: "succeeded", agoMs: 10_000 });
});

test("a Job that failed tells the words of its newest Pod, and Kubernetes' own only without any", () => {
  const words = (message: string) => ended({ ok: false, reason: "StoreDenied", message }, 4);
  const pods = [
    podWith(words("first"), "a", "2026-01-01T00:00:10Z"),
    podWith(words("second"), "b", "2026-01-01T00:00:20Z"),
  ];
  assert.deepEqual(stateOf(jobWith("Failed", "BackoffLimitExceeded"), pods), {
    is: "failed",
    agoMs: 10_000,
    reason: "StoreDenied",
    message: "second",
    reported: true,
  });
  const killed = stateOf(jobWith("Failed"), [
    podWith({ terminated: { exitCode: 137, reason: "OOMKilled" } }),
  ]);
  assert.ok(killed?.is === "failed" && !killed.reported);
  assert.match(killed.message, /OOMKilled \(exit code 137\)/);
});

test("a deadline is told with what was waited for", () => {
  const waiting = podWith({ waiting: { reason: "ImagePullBackOff", message: "no such image" } });
  const state = stateOf(jobWith("Failed", "DeadlineExceeded"), [waiting]);
  assert.ok(state?.is === "failed" && state.reported);
  assert.equal(state.reason, "DeadlineExceeded");
  assert.match(state.message, /ImagePullBackOff \(no such image\)/);
});

test("a Job that runs says how much its newest Pod has sent", () => {
  const pod = podWith({ running: { startedAt: AT } });
  const told = { done: 3, of: 10 };
  const one: Pod = { ...pod, metadata: { ...pod.metadata, uid: "pod-uid" } };
  const state = stateOf(jobWith(), [one], undefined, (uid) => (uid === "pod-uid" ? told : undefined));
  assert.deepEqual(state, { is: "running", pod: "a-save-x", transfer: told });
});

test("a Job under way waits or runs, as its newest Pod does", () => {
  assert.deepEqual(stateOf(jobWith(), []), { is: "waiting" });
  assert.deepEqual(stateOf(jobWith(), [podWith({ running: { startedAt: AT } })]), {
    is: "running",
    pod: "a-save-x",
  });
  const state = stateOf(jobWith(), [
    podWith(ended({ ok: false, reason: "StoreUnreachable", message: "timeout" }, 1)),
  ]);
  assert.ok(state?.is === "waiting");
  assert.match(state.why ?? "", /the last attempt failed: timeout/);
});

test("Jobs that do something unknown, and Pods of others, do not count", () => {
  assert.equal(
    jobFacts({ metadata: { labels: { [LABELS.task]: "dance" } } }, [], { destination: {} }, { now: NOW }),
    undefined,
  );
  const foreign = { ...podWith({ running: { startedAt: AT } }), metadata: { name: "other" } };
  assert.deepEqual(stateOf(jobWith(), [foreign]), { is: "waiting" });
});

test("a verification tells what its last container found, or what failed before it", () => {
  const verify = (type: string, pod: Pod, reason?: string) => {
    const job = jobWith(type, reason);
    const labels = { [LABELS.task]: "verify", [LABELS.attempt]: "1" };
    return stateOf({ ...job, metadata: { ...job.metadata, labels } }, [pod]);
  };
  const withInit = (pod: Pod, name: string, state: ContainerState): Pod => ({
    ...pod,
    status: { ...pod.status, initContainerStatuses: [{ name, state } as never] },
  });
  const verified = { rtoMs: 5_000, revision: 3, totalKeys: 2, hashCompared: false };
  const waits: ContainerState = { waiting: { reason: "PodInitializing" } };
  const right = withInit(podWith(ended({ ok: true, verified })), "fetch-snapshot", ended({ ok: true }));
  assert.deepEqual(verify("Complete", right), { is: "succeeded", agoMs: 10_000, verified });
  const silent = withInit(podWith(ended(undefined)), "fetch-snapshot", ended({ ok: true }));
  assert.deepEqual(verify("Complete", silent), { is: "succeeded", agoMs: 10_000 });
  const damage: JobResult = { ok: false, reason: "Damaged", message: "one byte" };
  const damaged = verify("Failed", withInit(podWith(waits), "fetch-snapshot", ended(damage, 1)));
  assert.ok(damaged?.is === "failed");
  assert.deepEqual([damaged.reason, damaged.message, damaged.reported], ["Damaged", "one byte", true]);
  const log = { terminated: { exitCode: 1, message: '{"level":"info"}\nError: no space left on device' } };
  const restore = verify("Failed", withInit(podWith(waits), "restore-snapshot", log));
  assert.ok(restore?.is === "failed");
  assert.equal(restore.reason, "RestoreFailed");
  assert.match(restore.message, /exit code 1: Error: no space left on device$/);
});
