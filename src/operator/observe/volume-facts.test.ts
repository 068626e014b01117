import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { Node, PersistentVolumeClaim, Pod } from "kubernetes-types/core/v1.d.ts";
import type { StorageClass } from "kubernetes-types/storage/v1.d.ts";
import { healthy } from "../../core/testing/cluster.ts";
import type { Erasure } from "./erasure.ts";
import { volumeOf } from "./volume-facts.ts";

const [first] = healthy().members;
const record = first!.record;
const on = (medium: "Memory" | "Ephemeral" | "HostPath") => ({
  ...record,
  template: { ...record.template, storage: { ...record.template.storage, medium } },
});

function claim(phase: string, change: { class?: string; deleting?: boolean } = {}): PersistentVolumeClaim {
  return {
    metadata: { uid: "c-1", ...(change.deleting && { deletionTimestamp: "2026-01-01T00:00:00Z" }) },
    spec: { volumeName: "pv-1", ...(change.class !== undefined && { storageClassName: change.class }) },
    status: { phase },
  };
}

const classes = new Map<string, StorageClass>(
  ["WaitForFirstConsumer", "Immediate"].map((volumeBindingMode) => [
    volumeBindingMode,
    { provisioner: "x", volumeBindingMode },
  ]),
);

describe("a claim", () => {
  test("that is not there is an absent volume, one that is bound is ready", () => {
    assert.deepEqual(volumeOf(record, {}), { state: "absent" });
    assert.deepEqual(volumeOf(record, { claim: claim("Bound") }), { state: "ready", uid: "c-1" });
  });

  test("that waits for its Pod is ready: no Pod would come if the Pod waited for it", () => {
    const waiting = claim("Pending", { class: "WaitForFirstConsumer" });
    assert.equal(volumeOf(record, { claim: waiting, classes }).state, "ready");
    const unknown = claim("Pending", { class: "other" });
    assert.equal(volumeOf(record, { claim: unknown }).state, "ready", "classes that cannot be read");
  });

  test("that waits for a volume is pending, with what it waits for", () => {
    const waiting = claim("Pending", { class: "Immediate" });
    assert.deepEqual(volumeOf(record, { claim: waiting, classes }), {
      state: "pending",
      reason: "its claim is waiting for a volume of class Immediate",
      uid: waiting.metadata?.uid,
    });
    const nowhere = volumeOf(record, { claim: claim("Pending", { class: "no-such" }), classes });
    assert.ok(nowhere.state === "pending");
    assert.match(
      nowhere.reason,
      /class no-such, which does not exist: create it, or set another spec.storage.className/,
    );
    const classless = volumeOf(record, { claim: claim("Pending"), classes });
    assert.ok(classless.state === "pending");
    assert.match(classless.reason, /no storage class/);
    const spec = {
      storageClassName: "",
      accessModes: ["ReadWriteOncePod"],
      selector: { matchLabels: { disk: "a" } },
      resources: { requests: { storage: "1Gi" } },
    };
    const manual = volumeOf(record, { claim: { ...claim("Pending"), spec }, classes });
    assert.ok(manual.state === "pending");
    assert.match(
      manual.reason,
      /without a storage class: create one of at least 1Gi with .* ReadWriteOncePod and/,
    );
  });

  test("that is smaller than its record asks for and cannot grow says so", () => {
    const small = (storageClassName: string): PersistentVolumeClaim => ({
      ...claim("Bound"),
      spec: { storageClassName, resources: { requests: { storage: "1Gi" } } },
    });
    const known = new Map<string, StorageClass>([
      ["fixed", { provisioner: "x" }],
      ["elastic", { provisioner: "x", allowVolumeExpansion: true }],
    ]);
    const fixed = volumeOf(record, { claim: small("fixed"), classes: known });
    assert.ok(fixed.state === "ready");
    assert.match(
      fixed.tooSmall ?? "",
      /^10Gi are requested, but its storage class fixed does not support expansion$/,
    );
    for (const objects of [{ claim: small("elastic"), classes: known }, { claim: small("fixed") }])
      assert.deepEqual(volumeOf(record, objects), { state: "ready", uid: "c-1" });
  });

  test("that lost its volume cannot be reached", () => {
    const lost = volumeOf(record, { claim: claim("Lost") });
    assert.deepEqual(lost, {
      state: "unreachable",
      uid: "c-1",
      reason: "the PersistentVolume pv-1 no longer exists",
    });
  });

  test("that is being deleted is kept by who has started on it, and taken by nobody else (I5)", () => {
    const going = claim("Bound", { deleting: true });
    assert.equal(volumeOf(record, { claim: going }).state, "ready");
    assert.equal(volumeOf({ ...record, volumeUID: undefined }, { claim: going }).state, "pending");
  });
});

test("what is on its way out already is not deleted again and again", () => {
  const ending = true;
  const deletionTimestamp = "2026-01-01T00:00:00Z";
  assert.equal(volumeOf(record, { claim: claim("Bound"), ending }).state, "ready");
  assert.equal(volumeOf(record, { claim: claim("Bound", { deleting: true }), ending }).state, "pending");
  const pod: Pod = { metadata: { uid: "p-1", deletionTimestamp } };
  assert.equal(volumeOf(on("Memory"), { pod }).state, "ready");
  assert.equal(volumeOf(on("Memory"), { pod, ending }).state, "pending");
  assert.deepEqual(volumeOf(on("HostPath"), { node: "node-1", directory: "/d/demo-1", ending }), {
    state: "pending",
    reason: "its directory remains: /d/demo-1 on node-1",
    remains: { where: "/d/demo-1 on node-1", why: "the operator cannot delete it" },
  });
  assert.deepEqual(volumeOf(on("HostPath"), { directory: "/d/demo-1", ending }), { state: "absent" });
  // Nor is the directory of a Pod that never ends on its lost node.
  const lost: Pod = { metadata: { deletionTimestamp }, spec: { nodeName: "node-1", containers: [] } };
  const without = new Map<string, Node>();
  const facts = volumeOf(on("HostPath"), { pod: lost, nodes: without, directory: "/d/demo-1", ending });
  assert.deepEqual(facts.state === "pending" && facts.remains, {
    where: "/d/demo-1 on node-1",
    why: "the node no longer exists",
  });
});

test("the directory of a member that leaves is there to be deleted, being deleted, deleted, or left behind", () => {
  const at = (erasure: Erasure) =>
    volumeOf(on("HostPath"), { node: "node-1", directory: `/d/demo-1.${record.uid}`, ending: true, erasure });
  const where = `/d/demo-1.${record.uid} on node-1`;
  const wanted = { state: "pending", reason: "its directory is to be deleted", uid: record.uid };
  assert.deepEqual(at({ is: "wanted" }), wanted);
  const begun = { since: 5, why: "a quota" };
  assert.deepEqual(at({ is: "wanted", begun }), { ...wanted, clearing: { where, ...begun } });
  assert.deepEqual(at({ is: "running", since: 5 }), {
    state: "pending",
    reason: "its directory is being deleted",
    clearing: { where, since: 5 },
  });
  assert.deepEqual(at({ is: "done" }), { state: "absent" });
  assert.deepEqual(at({ is: "impossible", why: "no image" }), {
    state: "pending",
    reason: `its directory remains: ${where}`,
    remains: { where, why: "no image" },
  });
});

test("H4: in memory and on ephemeral disk the Pod is the volume", () => {
  const pod: Pod = { metadata: { uid: "p-1" } };
  for (const medium of ["Memory", "Ephemeral"] as const) {
    assert.deepEqual(volumeOf(on(medium), { pod }), { state: "ready", uid: "p-1" });
    assert.deepEqual(volumeOf(on(medium), { claim: claim("Bound") }), { state: "absent" });
  }
});

test("a directory on a node is reached as long as the node exists", () => {
  const pod: Pod = { metadata: { uid: "p-1" }, spec: { nodeName: "node-1", containers: [] } };
  const nodes = new Map<string, Node>([["node-1", {}]]);
  const ready = { state: "ready", uid: record.uid };
  assert.deepEqual(volumeOf(on("HostPath"), { pod, nodes }), ready);
  assert.deepEqual(volumeOf(on("HostPath"), { pod }), ready);
  assert.deepEqual(volumeOf(on("HostPath"), { pod, nodes: new Map() }), {
    state: "unreachable",
    uid: record.uid,
    reason: "its node node-1 no longer exists",
  });
  const remembered = volumeOf(on("HostPath"), { node: "node-1", nodes: new Map() });
  assert.equal(remembered.state, "unreachable", "also when its Pod is gone");
});
