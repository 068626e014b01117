import assert from "node:assert/strict";
import { test } from "node:test";
import type { Action } from "../../core/action.ts";
import { specOf } from "../../core/testing/cluster.ts";
import { clusterWith, memberOf, type Wish } from "../testing/rendered.ts";
import { selectorOf } from "./metadata.ts";
import { inspectPod, rescuePod } from "./recovery-pods.ts";

const IMAGE = "registry.example/quorate:1";
const PLAN = "51f0a3c2d4e5b697";

const RESCUE: Extract<Action, { kind: "RescueData" }> = {
  kind: "RescueData",
  member: "demo-1",
  volumeUID: "volume",
  plan: PLAN,
  version: "3.6.16",
  attempt: 2,
  expected: { clusterID: "4a5d", memberID: "8e9e", term: 4, index: 2817 },
  operation: "operation",
};

function podsOf(wish: Wish = {}, node = "node-a") {
  const view = clusterWith(specOf(wish));
  const { cluster } = view.observation;
  const wishes = { image: IMAGE, node: node || undefined, directory: "default/demo.uid/demo-1" };
  const record = memberOf(view);
  return {
    cluster,
    inspect: inspectPod(cluster, record, "volume beside pod", wishes),
    rescue: rescuePod(cluster, record, RESCUE, wishes),
  };
}

test("what reads a volume can change nothing on it, and runs where the volume is in use", () => {
  const { inspect } = podsOf();
  const [container] = inspect.spec?.containers ?? [];
  assert.deepEqual(container?.args?.slice(0, 3), ["recover", "inspect", "/var/lib/etcd/data"]);
  assert.deepEqual(
    container?.volumeMounts?.map(({ name, readOnly }) => [name, readOnly]),
    [["data", true]],
  );
  assert.equal(inspect.spec?.volumes?.[0]?.persistentVolumeClaim?.readOnly, true);
  assert.equal(inspect.spec?.restartPolicy, "Never");
});

test("what reads a volume beside its member is kept off its node by nothing: no scheduler, no room, no labels", () => {
  const { inspect } = podsOf({ pod: { nodeSelector: { disk: "fast" } } });
  const { spec, metadata } = inspect;
  assert.equal(spec?.nodeName, "node-a");
  assert.equal(spec.affinity, undefined);
  assert.equal(spec.nodeSelector, undefined, "labels of the node may have changed since");
  assert.equal(spec.containers[0]?.resources?.requests, undefined);
  assert.equal(metadata?.labels?.["app.kubernetes.io/name"], "quorate");
  assert.equal(metadata.labels["app.kubernetes.io/instance"], undefined);
  assert.equal(spec.activeDeadlineSeconds, undefined, "a volume that comes late is read when it comes");
});

test("without a node it goes where the member may go and its volume is, also where no new Pods are wanted", () => {
  const { inspect } = podsOf({ pod: { nodeSelector: { disk: "fast" } } }, "");
  assert.deepEqual(inspect.spec?.nodeSelector, { disk: "fast" });
  assert.equal(inspect.spec.nodeName, undefined);
  assert.ok(inspect.spec.tolerations?.some(({ key }) => key === "node.kubernetes.io/unschedulable"));
});

test("etcd runs on the copy alone, on loopback, once: no kubelet starts it again", () => {
  const { rescue } = podsOf();
  assert.equal(rescue.metadata?.name, `demo-${PLAN}-2-rescue`);
  assert.equal(rescue.spec?.restartPolicy, "Never");
  assert.equal(rescue.spec.activeDeadlineSeconds, undefined, "what runs is not ended by time");
  const [etcd, save] = rescue.spec?.containers ?? [];
  const args = etcd?.args ?? [];
  assert.ok(args.includes("--force-new-cluster"));
  assert.ok(args.includes(`--data-dir=/var/lib/etcd/recovery/${PLAN}/attempt-$(QUORATE_POD_UID)/data`));
  for (const arg of args.filter((one) => /^--(listen|advertise|initial)/.test(one)))
    assert.match(arg, /:\/\/127\.0\.0\.1:/, arg);
  assert.ok(args.includes("--client-cert-auth=true"));
  assert.ok(args.includes("--max-learners=18"));
  assert.match(etcd?.image ?? "", /:v3\.6\.16$/);
  assert.deepEqual(save?.args?.slice(0, 2), ["recover", "save"]);
  const copy = rescue.spec?.initContainers?.[0]?.args ?? [];
  for (const [flag, value] of [
    ["--term", "4"],
    ["--index", "2817"],
    ["--cluster-id", "4a5d"],
    ["--member-id", "8e9e"],
  ] as const)
    assert.equal(copy[copy.indexOf(flag) + 1], value);
});

test("no selector of the cluster means them, and they have no rights in Kubernetes", () => {
  const { cluster, inspect, rescue } = podsOf();
  for (const { metadata, spec } of [inspect, rescue]) {
    const meets = Object.entries(selectorOf(cluster, "all")).every(
      ([key, value]) => metadata?.labels?.[key] === value,
    );
    assert.equal(meets, false);
    assert.equal(spec?.automountServiceAccountToken, false);
    assert.equal(metadata?.ownerReferences?.[0]?.uid, cluster.uid);
  }
});

test("with HostPath they use the member's own directory", () => {
  const { inspect } = podsOf({ storage: { medium: "HostPath", size: "1Gi", hostPath: "/data" } });
  const { path, type } = inspect.spec?.volumes?.[0]?.hostPath ?? {};
  assert.match(path ?? "", /^\/data\/default\/demo\.uid\/demo-1\./);
  assert.equal(type, "Directory", "one that is not there is not made, and is not read as empty");
});
