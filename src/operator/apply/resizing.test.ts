import assert from "node:assert/strict";
import { test } from "node:test";
import type { Pod } from "kubernetes-types/core/v1.d.ts";
import type { MemberRecord } from "../../core/record.ts";
import { lacksOnlyResources, sameStart, startHash } from "../../core/template/template.ts";
import { healthy } from "../../core/testing/cluster.ts";
import type { KubeClient } from "../../kube/client.ts";
import { KubeError } from "../../kube/errors.ts";
import { ManualClock } from "../../kube/testing.ts";
import { ANNOTATIONS } from "../names.ts";
import { foreignResources, Resizing } from "./resizing.ts";
import { startedBeforeJoining } from "./start-latch.ts";

const OLD = { requests: { cpu: "100m", memory: "256Mi" } };
const NEW = { requests: { cpu: "1", memory: "256Mi" }, limits: { memory: "1Gi" } };

function recordWith(resources: object): MemberRecord {
  const { record } = healthy({ replicas: 1 }).members[0]!;
  return { ...record, template: { ...record.template, pod: { ...record.template.pod, resources } } };
}

const before = recordWith(OLD);
const after = recordWith(NEW);

interface World {
  pod: Pod;
  readonly calls: string[];
  readonly clock: ManualClock;
  readonly resizing: Resizing;
}

function world(refusal?: KubeError, startedFrom = startHash(before)): World {
  const calls: string[] = [];
  const clock = new ManualClock();
  const pod: Pod = {
    metadata: {
      name: before.name,
      namespace: "default",
      uid: "u1",
      generation: 1,
      annotations: { [ANNOTATIONS.startedFrom]: startedFrom },
    },
    spec: { containers: [{ name: "etcd", resources: OLD }] },
    status: {},
  };
  const made: World = {
    pod,
    calls,
    clock,
    resizing: new Resizing({ patch } as unknown as KubeClient, clock),
  };
  // What an API server does with the two patches there are.
  function patch(_resource: unknown, _ref: unknown, body: Pod, how: { subresource?: string }) {
    calls.push(how.subresource ?? `note ${body.metadata?.annotations?.[ANNOTATIONS.startedFrom]}`);
    if (how.subresource === undefined)
      made.pod = { ...made.pod, metadata: { ...made.pod.metadata, ...body.metadata } };
    else if (refusal) return Promise.reject(refusal);
    else made.pod = { ...made.pod, metadata: { ...made.pod.metadata, generation: 2 }, spec: body.spec! };
    return Promise.resolve(made.pod);
  }
  return made;
}

/** The kubelet has seen `generation`, and its container has these. */
function seenBy(pod: Pod, observedGeneration: number, resources: object, condition?: [string, string]): Pod {
  const conditions = condition ? [{ type: condition[0], reason: condition[1], status: "True" }] : [];
  const container = { name: "etcd", image: "", imageID: "", ready: true, restartCount: 0, resources };
  // observedGeneration is newer than the published types.
  const status = { observedGeneration, conditions, containerStatuses: [container] };
  return { ...pod, status };
}

test("noted first, then asked for, then confirmed when the kubelet has done it", async () => {
  const at = world();
  assert.ok(await at.resizing.proceed(at.pod, after));
  assert.ok(await at.resizing.proceed(at.pod, after));
  assert.deepEqual(at.calls, [`note ${startHash(after)}~`, "resize"]);
  assert.deepEqual(at.pod.spec?.containers[0]?.resources, NEW);
  const stages: Pod[] = [
    seenBy(at.pod, 1, OLD),
    seenBy(at.pod, 2, OLD, ["PodResizeInProgress", ""]),
    seenBy(at.pod, 2, OLD),
  ];
  for (const stage of stages) assert.equal(await at.resizing.proceed(stage, after), false);
  assert.ok(await at.resizing.proceed(seenBy(at.pod, 2, NEW), after));
  assert.equal(at.calls[2], `note ${startHash(after)}`);
});

test("a Pod that was started before its member joined is still known as such, so that its new file is waited for", async () => {
  const at = world(undefined, startHash({ ...before, joined: false }));
  for (let step = 0; step < 2; step++) {
    assert.ok(await at.resizing.proceed(at.pod, after));
    assert.ok(startedBeforeJoining(at.pod));
    const startedFrom = at.pod.metadata?.annotations?.[ANNOTATIONS.startedFrom] ?? "";
    assert.equal(sameStart(startedFrom, after), false, "not confirmed yet");
    assert.equal(lacksOnlyResources(startedFrom, after), true);
  }
  assert.ok(await at.resizing.proceed(seenBy(at.pod, 2, NEW), after));
  assert.ok(startedBeforeJoining(at.pod));
  assert.ok(sameStart(at.pod.metadata?.annotations?.[ANNOTATIONS.startedFrom] ?? "", after));
});

test("whoever comes after a crash asks again, or confirms what was done", async () => {
  const at = world();
  await at.resizing.proceed(at.pod, after);
  const next = new Resizing(
    { patch: () => Promise.reject(new Error("not again")) } as unknown as KubeClient,
    at.clock,
  );
  await assert.rejects(next.proceed(at.pod, after), /not again/);
  await at.resizing.proceed(at.pod, after);
  assert.equal(await next.proceed(seenBy(at.pod, 1, OLD), after), false, "asked for already");
});

test("an edit that is taken back is asked for the other way round", async () => {
  const at = world();
  await at.resizing.proceed(at.pod, after);
  await at.resizing.proceed(at.pod, after);
  assert.ok(await at.resizing.proceed(at.pod, before));
  assert.ok(await at.resizing.proceed(at.pod, before));
  const [container] = at.pod.spec?.containers ?? [];
  assert.deepEqual(container?.resources?.requests, OLD.requests);
  assert.deepEqual(container?.resources?.limits, { memory: null }, "taken away");
});

test("what the server refuses, the kubelet cannot do, or nobody does in time, is left to a restart", async () => {
  const refused = world(new KubeError("Invalid", "resize", "the QoS class would change"));
  await refused.resizing.proceed(refused.pod, after);
  assert.ok(refused.resizing.isPossible(refused.pod, after));
  assert.ok(await refused.resizing.proceed(refused.pod, after), "looked at again");
  assert.equal(refused.resizing.isPossible(refused.pod, after), false);

  const slow = world();
  await slow.resizing.proceed(slow.pod, after);
  await slow.resizing.proceed(slow.pod, after);
  const infeasible = seenBy(slow.pod, 2, OLD, ["PodResizePending", "Infeasible"]);
  const deferred = seenBy(slow.pod, 2, OLD, ["PodResizePending", "Deferred"]);
  assert.equal(slow.resizing.isPossible(infeasible, after), false);
  assert.equal(slow.resizing.isPossible(deferred, after), true);
  await slow.clock.advance(60_000);
  assert.equal(slow.resizing.isPossible(deferred, after), false);
  const other = { ...deferred, metadata: { ...deferred.metadata, uid: "u2" } };
  assert.equal(slow.resizing.isPossible(other, after), true, "another Pod is another matter");
});

test("resources that another writer gave a container are told, and not those that are on their way to it", () => {
  const { pod } = world();
  const given = { requests: { cpu: "250m", memory: "400Mi" } };
  const changed: Pod = { ...pod, spec: { containers: [{ name: "etcd", resources: given }] } };
  assert.equal(foreignResources(pod, before), undefined);
  assert.deepEqual(foreignResources(changed, before), given);
  assert.equal(foreignResources(changed, after), undefined, "the operator gives it others now");
  assert.equal(foreignResources(undefined, before), undefined);
  assert.equal(foreignResources(world(undefined, `${startHash(before)}~`).pod, before), undefined);
});
