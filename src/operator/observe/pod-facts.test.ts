import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { ContainerStatus, Pod, PodStatus } from "kubernetes-types/core/v1.d.ts";
import type { WorkloadFacts } from "../../core/observation.ts";
import { startHash } from "../../core/template/template.ts";
import { healthy } from "../../core/testing/cluster.ts";
import type { EtcdClusterSpecInput } from "../../api/etcd-cluster-spec.ts";
import { ANNOTATIONS } from "../names.ts";
import { workloadOf } from "./pod-facts.ts";

const AT = "2026-01-01T00:00:00Z";
const LATER = "2026-01-01T00:01:00Z";

function recordIn(
  medium: NonNullable<EtcdClusterSpecInput["storage"]>["medium"] = "Persistent",
  joined = true,
) {
  const [first] = healthy({ storage: { medium, size: "10Gi" } }).members;
  assert.ok(first);
  return { ...first.record, joined };
}

function pod(status: PodStatus, metadata: object = {}): Pod {
  return {
    metadata: {
      name: "demo-1",
      creationTimestamp: AT,
      annotations: { [ANNOTATIONS.startedFrom]: "abc" },
      ...metadata,
    },
    spec: { nodeName: "node-1", containers: [] },
    status,
  };
}

function container(state: ContainerStatus["state"], more: Partial<ContainerStatus> = {}): ContainerStatus {
  return { name: "etcd", image: "", imageID: "", ready: false, restartCount: 0, state, ...more };
}

function seen(object: Pod | undefined, record = recordIn()): WorkloadFacts {
  return workloadOf(object, { record, nodes: nodesThat("True"), now: Date.parse(LATER) });
}

/** node-1, with what its kubelet last said of itself. */
function nodesThat(ready: string) {
  return new Map([["node-1", { status: { conditions: [{ type: "Ready", status: ready }] } }]]);
}

const ended = (terminated: object, more: Partial<ContainerStatus> = {}) =>
  pod({
    phase: "Running",
    containerStatuses: [container({ terminated: { exitCode: 1, finishedAt: LATER, ...terminated } }, more)],
  });

function exit(object: Pod, record = recordIn()): [cause: string, detail: string] {
  const facts = seen(object, record);
  assert.ok(facts.state === "exited", JSON.stringify(facts));
  return [facts.cause, facts.detail];
}

test("no Pod is no workload", () => {
  assert.deepEqual(seen(undefined), { state: "absent" });
});

test("a running container runs since its start, beside a sidecar that has ended", () => {
  const sidecar = container({ terminated: { exitCode: 1 } }, { name: "proxy" });
  const etcd = container({ running: { startedAt: LATER } }, { restartCount: 4 });
  assert.deepEqual(seen(pod({ phase: "Running", containerStatuses: [sidecar, etcd] })), {
    state: "running",
    since: Date.parse(LATER),
    startedFrom: "abc",
    restarts: 4,
    ready: false,
  });
});

test("one that runs on a node that does not report, or is gone, is told with that node", () => {
  const runs = pod({ phase: "Running", containerStatuses: [container({ running: { startedAt: LATER } })] });
  for (const [nodes, lost] of [
    [nodesThat("Unknown"), "node-1"],
    [new Map<string, object>(), "node-1"],
    [nodesThat("False"), undefined],
    [undefined, undefined],
  ] as const) {
    const facts = workloadOf(runs, { record: recordIn(), ...(nodes && { nodes }), now: Date.parse(LATER) });
    assert.equal(facts.state === "running" && facts.lostNode, lost);
  }
});

function readyBy(status?: string, reason?: string, etcd = true): boolean | undefined {
  const conditions = status === undefined ? [] : [{ type: "Ready", status, ...(reason && { reason }) }];
  const sidecar = container({ running: { startedAt: LATER } }, { name: "proxy", ready: !etcd });
  const containerStatuses = [sidecar, container({ running: { startedAt: LATER } }, { ready: etcd })];
  const facts = seen(pod({ phase: "Running", conditions, containerStatuses }));
  return facts.state === "running" && facts.ready;
}

test("a member is ready only by its kubelet's word: one whose node is lost is not, nor one that has not said", () => {
  const words = ["True", "False", "Unknown", undefined];
  assert.deepEqual(
    words.map((word) => readyBy(word)),
    [true, false, false, false],
  );
});

test("a member is as ready as its etcd container, whatever a sidecar or a readiness gate says", () => {
  for (const reason of ["ContainersNotReady", "ReadinessGatesNotReady"])
    assert.equal(readyBy("False", reason), true, reason);
  assert.equal(readyBy("False", "ContainersNotReady", false), false);
  assert.equal(readyBy("True", undefined, false), false);
});

test("a container that runs again says how its last run ended", () => {
  const message =
    '{"level":"warn","msg":"failed to verify flags","error":"unexpected TLS cipher suite \\"NO\\""}';
  const again = container(
    { running: { startedAt: LATER } },
    { restartCount: 1, lastState: { terminated: { exitCode: 1, finishedAt: AT, message } } },
  );
  const facts = seen(pod({ phase: "Running", containerStatuses: [again] }));
  assert.ok(facts.state === "running");
  assert.equal(facts.lastEnd?.cause, "bad-configuration");
  assert.match(facts.lastEnd?.detail ?? "", /unexpected TLS cipher suite/);
});

test("H4: a Pod behind its gate has started from nothing yet, unless it was made from another template", () => {
  const record = { ...recordIn("Memory", false), initialCluster: [] };
  const gated = (startedFrom: string): Pod => ({
    ...pod({ phase: "Pending" }, { annotations: { [ANNOTATIONS.startedFrom]: startedFrom } }),
    spec: { schedulingGates: [{ name: "etcd.quorate.dev/permit" }], containers: [] },
  });
  const permitted = { ...record, initialCluster: [{ name: "demo-1", peerURL: "https://demo-1:2380" }] };
  const made = seen(gated(startHash(record)), permitted);
  assert.ok(made.state === "waiting" && made.startedFrom === undefined);
  const old = seen(gated("abc/def"), permitted);
  assert.ok(old.state === "waiting" && old.startedFrom === "abc/def");
});

test("a Pod without our annotation was started from nobody knows what: it is out of date", () => {
  const facts = seen(
    pod({ containerStatuses: [container({ running: { startedAt: LATER } })] }, { annotations: {} }),
  );
  assert.ok(facts.state === "running");
  assert.equal(facts.startedFrom, "");
});

describe("a Pod that cannot start waits, and says for what", () => {
  const reasonOf = (status: PodStatus) => {
    const facts = seen(pod(status));
    assert.ok(facts.state === "waiting", JSON.stringify(facts));
    return facts.reason;
  };

  test("a moment after it was made", () => {
    assert.equal(reasonOf({ phase: "Pending" }), "its Pod is being scheduled");
  });

  test("behind a gate", () => {
    const conditions = [
      { type: "PodScheduled", status: "False", reason: "SchedulingGated", lastTransitionTime: AT },
    ];
    assert.equal(reasonOf({ phase: "Pending", conditions }), "SchedulingGated");
  });

  test("for its image, a Secret, its sandbox, also when it ran before", () => {
    for (const reason of [
      "ErrImagePull",
      "InvalidImageName",
      "CreateContainerConfigError",
      "ContainerCreating",
    ]) {
      const etcd = container({ waiting: { reason } }, { lastState: { terminated: { exitCode: 1 } } });
      assert.equal(reasonOf({ phase: "Pending", containerStatuses: [etcd] }), reason);
    }
  });

  test("for an image that cannot be used, by the kubelet's reason and not by a word in its message", () => {
    const isBad = (reason: string, message?: string) => {
      const etcd = container({ waiting: { reason, ...(message !== undefined && { message }) } });
      const facts = seen(pod({ phase: "Pending", containerStatuses: [etcd] }));
      return "badImage" in facts && facts.badImage === true;
    };
    const root = "container has runAsNonRoot and image will run as root";
    const user = "container has runAsNonRoot and image has non-numeric user (etcd)";
    for (const reason of ["ErrImagePull", "ImagePullBackOff", "InvalidImageName", "ErrImageNeverPull"])
      assert.ok(isBad(reason, "denied"), reason);
    assert.ok(isBad("RegistryUnavailable", "connection refused"));
    assert.ok(isBad("SignatureValidationFailed"));
    // The kubelet has no reason of its own for these.
    for (const message of [root, user]) assert.ok(isBad("CreateContainerConfigError", message), message);
    assert.ok(!isBad("CreateContainerConfigError", 'secret "image-credentials" not found'));
    assert.ok(!isBad("ContainerCreating", "waiting for volume images"));
  });

  test("for the image of an init container that a webhook added", () => {
    const init = container({ waiting: { reason: "ErrImagePull", message: "denied" } }, { name: "mesh-init" });
    const etcd = container({ waiting: { reason: "PodInitializing" } });
    const status = { phase: "Pending", initContainerStatuses: [init], containerStatuses: [etcd] };
    assert.equal(reasonOf(status), "ErrImagePull: denied");
  });
});

describe("a container that ended", () => {
  test("is told by the last words of etcd", () => {
    const words = JSON.stringify({
      level: "fatal",
      msg: "discovery failed",
      error: "member count is unequal",
    });
    assert.deepEqual(exit(ended({ message: `cut off","level":"info"}\n${words}\n` })), [
      "member-list-mismatch",
      "discovery failed: member count is unequal",
    ]);
  });

  test("is reported between two attempts too", () => {
    const crash = container(
      { waiting: { reason: "CrashLoopBackOff" } },
      {
        restartCount: 7,
        lastState: {
          terminated: { exitCode: 2, finishedAt: LATER, message: "flag provided but not defined: -x" },
        },
      },
    );
    const facts = seen(pod({ phase: "Running", containerStatuses: [crash] }));
    assert.deepEqual(facts, {
      state: "exited",
      since: Date.parse(LATER),
      startedFrom: "abc",
      restarts: 7,
      cause: "bad-configuration",
      detail: "flag provided but not defined: -x",
    });
  });

  test("by a signal was killed, whatever it had logged before", () => {
    const message = JSON.stringify({
      level: "warn",
      msg: "rejected connection",
      error: "tls: bad certificate",
    });
    assert.deepEqual(exit(ended({ exitCode: 137, message })), ["killed", "ended by SIGKILL"]);
    assert.deepEqual(exit(ended({ exitCode: 143 })), ["killed", "ended by SIGTERM"]);
  });

  test("by the memory limit says so", () => {
    const [cause, detail] = exit(ended({ exitCode: 137, reason: "OOMKilled" }));
    assert.equal(cause, "killed");
    assert.match(detail, /memory limit/);
  });

  test("because the image cannot run it speaks of the template", () => {
    const reported = { exitCode: 128, reason: "StartError", message: 'exec: "etcd": not found' };
    assert.deepEqual(exit(ended(reported)), ["bad-configuration", 'exec: "etcd": not found']);
  });

  test("without a word has its exit code", () => {
    assert.deepEqual(exit(ended({ exitCode: 3 })), ["unknown", "exit code 3"]);
  });

  test("H3: without peers to ask has lost its data if it had joined, and only then", () => {
    const message = JSON.stringify({
      level: "error",
      msg: "bootstrap failed",
      error: "cannot fetch cluster info from peer urls",
    });
    const before = { message, finishedAt: AT };
    assert.equal(exit(ended(before))[0], "data-missing");
    assert.equal(exit(ended(before), recordIn("Persistent", false))[0], "unknown");
  });

  test("and an init container that a webhook added says nothing of the member's data", () => {
    const init = container(
      { waiting: { reason: "CrashLoopBackOff" } },
      { name: "mesh-init", lastState: { terminated: { exitCode: 66, message: "no route\n" } } },
    );
    const status = {
      phase: "Pending",
      initContainerStatuses: [init],
      containerStatuses: [container({})],
    };
    assert.deepEqual(exit(pod(status)), ["unknown", "before etcd was started: no route"]);
  });
});

describe("a Pod that was evicted", () => {
  const evicted = pod({
    phase: "Failed",
    reason: "Evicted",
    message: "The node was low on resource: memory.",
  });

  test("was killed, with the words of its node", () => {
    assert.deepEqual(exit(evicted), ["killed", "Evicted: The node was low on resource: memory."]);
  });

  test("H4: took its data with it where the data was the Pod's", () => {
    for (const medium of ["Memory", "Ephemeral"] as const) {
      const [cause, detail] = exit(evicted, recordIn(medium));
      assert.equal(cause, "data-missing");
      assert.match(detail, /its data was lost with the Pod$/);
    }
  });
});

test("a Pod being deleted is stopping since it was asked to", () => {
  const deleted = pod({}, { deletionTimestamp: LATER, deletionGracePeriodSeconds: 30 });
  const nodes = new Map();
  const facts = workloadOf(deleted, { record: recordIn(), nodes, now: Date.parse(AT) });
  assert.deepEqual(facts, { state: "stopping", since: Date.parse(LATER) - 30_000, startedFrom: "abc" });
});

test("a waiting Pod that lost its note is out of date, unless data of an earlier run may be in it (H4)", () => {
  const stripped = pod(
    { phase: "Pending", containerStatuses: [container({ waiting: { reason: "ImagePullBackOff" } })] },
    { annotations: {} },
  );
  const startOf = (record: ReturnType<typeof recordIn>) => {
    const facts = seen(stripped, record);
    return facts.state === "waiting" ? facts.startedFrom : assert.fail(facts.state);
  };
  assert.equal(startOf(recordIn("Persistent")), "");
  assert.equal(startOf(recordIn("Memory", false)), "");
  for (const medium of ["Memory", "Ephemeral"] as const) assert.equal(startOf(recordIn(medium)), undefined);
});
