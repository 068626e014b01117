import assert from "node:assert/strict";
import { test } from "node:test";
import type { ContainerState, ContainerStatus, Pod, PodSpec } from "kubernetes-types/core/v1.d.ts";
import { Backoff } from "./backoff.ts";
import { podStatus } from "./status.ts";

const NOW = "2026-01-01T00:00:00Z";

function container(
  name: string,
  state: ContainerState,
  rest: Partial<ContainerStatus> = {},
): ContainerStatus {
  return { name, image: "", imageID: "", ready: false, restartCount: 0, state, ...rest };
}

const exited = (exitCode: number): ContainerState => ({ terminated: { exitCode } });
const running: ContainerState = { running: {} };
const waiting: ContainerState = { waiting: { reason: "ContainerCreating" } };

function status(
  main: ContainerStatus[],
  spec: Partial<PodSpec> = {},
  init: ContainerStatus[] = [],
  pod: Partial<Pod> = {},
) {
  const object: Pod = { metadata: { name: "p" }, spec: { containers: [], ...spec }, ...pod };
  return podStatus(object, { podIP: "127.64.1.10", hostIP: "127.64.1.1", startTime: NOW, init, main }, NOW);
}

const condition = (s: ReturnType<typeof status>, type: string) => s.conditions?.find((c) => c.type === type);

test("a Pod is pending until every container has begun", () => {
  assert.equal(status([container("a", running), container("b", waiting)]).phase, "Pending");
  assert.equal(status([container("a", running)], {}, [container("i", running)]).phase, "Running");
  assert.equal(status([container("a", waiting)], {}, [container("i", exited(0))]).phase, "Pending");
});

test("a crashing container leaves its Pod running unless the policy gives up", () => {
  const crashed = container("a", waiting, { lastState: exited(1) });
  assert.equal(status([crashed]).phase, "Running");
  assert.equal(status([container("a", exited(1))], { restartPolicy: "OnFailure" }).phase, "Running");
  assert.equal(status([container("a", exited(1))], { restartPolicy: "Never" }).phase, "Failed");
  assert.equal(status([container("a", exited(0))], { restartPolicy: "Never" }).phase, "Succeeded");
});

test("Ready names the containers that are not, and waits for readiness gates", () => {
  const unready = status([container("a", running, { ready: true }), container("b", running)]);
  assert.equal(condition(unready, "Ready")?.reason, "ContainersNotReady");
  assert.match(condition(unready, "Ready")?.message ?? "", /\[b\]/);
  const gated = status([container("a", running, { ready: true })], {
    readinessGates: [{ conditionType: "x/y" }],
  });
  assert.equal(condition(gated, "ContainersReady")?.status, "True");
  assert.equal(condition(gated, "Ready")?.reason, "ReadinessGatesNotReady");
});

test("a condition keeps the time of its last change", () => {
  const before = { type: "Ready", status: "False", lastTransitionTime: "2020-01-01T00:00:00Z" };
  const pod = { status: { conditions: [before] } };
  assert.equal(
    condition(status([container("a", running)], {}, [], pod), "Ready")?.lastTransitionTime,
    before.lastTransitionTime,
  );
  assert.equal(
    condition(status([container("a", running, { ready: true })], {}, [], pod), "Ready")?.lastTransitionTime,
    NOW,
  );
});

test("a failing container waits longer each time, up to a limit, and is forgiven after a long run", () => {
  const backoff = new Backoff(10, 35);
  assert.deepEqual(
    [1, 2, 3, 4, 5].map(() => backoff.next()),
    [0, 10, 20, 35, 35],
  );
  backoff.ran(69);
  assert.equal(backoff.next(), 35);
  backoff.ran(70);
  assert.equal(backoff.next(), 0);
});
