import assert from "node:assert/strict";
import { test } from "node:test";
import type { PersistentVolume, PersistentVolumeClaim } from "kubernetes-types/core/v1.d.ts";
import { ANNOTATIONS, LABELS } from "../names.ts";
import { claimOfVolume } from "../render/claim.ts";
import { releasedVolumes } from "./released-volumes.ts";

const CLUSTER = { name: "demo", namespace: "prod" };
const LEFT: PersistentVolume = {
  metadata: {
    name: "pv-1",
    uid: "uid-pv-1",
    labels: {
      [LABELS.cluster]: "demo",
      [LABELS.clusterUID]: "former",
      [LABELS.member]: "demo-1",
      [LABELS.clusterID]: "4a5d",
      [LABELS.memberID]: "8e9e",
    },
    annotations: { [ANNOTATIONS.token]: "former-1", "pv.kubernetes.io/provisioned-by": "disks" },
  },
  spec: {
    capacity: { storage: "10Gi" },
    accessModes: ["ReadWriteOnce"],
    storageClassName: "fast",
    volumeMode: "Filesystem",
    persistentVolumeReclaimPolicy: "Retain",
    claimRef: { namespace: "prod", name: "data-demo-1", uid: "gone", resourceVersion: "7" },
  },
  status: { phase: "Released" },
};

function left(change: { metadata?: object; spec?: object; status?: object } = {}): PersistentVolume {
  return {
    metadata: { ...LEFT.metadata, ...change.metadata },
    spec: { ...LEFT.spec, ...change.spec },
    status: { ...LEFT.status, ...change.status },
  };
}

function claim(volumeName: string | undefined, uid = "new"): PersistentVolumeClaim {
  const metadata = { name: "data-demo-1", namespace: "prod", uid };
  return { metadata, spec: { ...(volumeName !== undefined && { volumeName }) } };
}

const refusalOf = (volume: PersistentVolume, claims: readonly PersistentVolumeClaim[] = []) =>
  releasedVolumes(CLUSTER, [volume], claims).map(({ refused }) => refused);

test("a volume that was retained when its claim went can be bound again, by the identity that is written on it", () => {
  assert.deepEqual(releasedVolumes(CLUSTER, [left()], []), [
    {
      name: "pv-1",
      uid: "uid-pv-1",
      member: "demo-1",
      identity: { clusterID: "4a5d", memberID: "8e9e", token: "former-1", version: undefined },
    },
  ]);
});

test("a volume that is bound is nobody's to take, and one of another cluster's claims is not told at all", () => {
  assert.deepEqual(refusalOf(left({ status: { phase: "Bound" } })), []);
  assert.deepEqual(refusalOf(left({ spec: { claimRef: { namespace: "prod", name: "data-other-1" } } })), []);
  assert.deepEqual(refusalOf(left({ spec: { claimRef: undefined } })), []);
});

test("what could be somebody else's or erased is refused by reason", () => {
  const elsewhere = { claimRef: { namespace: "other", name: "data-demo-1", uid: "gone" } };
  assert.match(String(refusalOf(left({ spec: elsewhere }))), /its claim was other\/data-demo-1/);
  const policy = { persistentVolumeReclaimPolicy: "Delete" };
  assert.match(String(refusalOf(left({ spec: policy }))), /ReclaimPolicy is Delete/);
  assert.match(String(refusalOf(left({ metadata: { deletionTimestamp: "2026-01-01" } }))), /being deleted/);
  assert.match(String(refusalOf(left({ status: { phase: "Failed" } }))), /it is Failed/);
  const labels = { ...LEFT.metadata?.labels, [LABELS.member]: "demo-2" };
  assert.match(
    String(refusalOf(left({ metadata: { labels } }))),
    /volume of demo-2, but its claim was data-demo-1/,
  );
});

test("a claim of its name decides: one that names it is completed, any other keeps it away", () => {
  assert.deepEqual(refusalOf(left(), [claim("pv-1")]), [undefined], "a crash between both writes");
  assert.match(String(refusalOf(left(), [claim("pv-9")])), /has the volume pv-9/);
  assert.match(String(refusalOf(left(), [claim(undefined)])), /has no volume yet/);
  assert.match(String(refusalOf(left(), [claim("pv-1", "gone")])), /it is being bound/);
});

test("its new claim asks for just this volume, and bears what is written on it", () => {
  const { metadata, spec } = claimOfVolume(CLUSTER, "demo-1", left());
  assert.equal(metadata?.name, "data-demo-1");
  assert.equal(metadata?.namespace, "prod");
  assert.deepEqual(metadata?.labels, {
    [LABELS.cluster]: "demo",
    [LABELS.member]: "demo-1",
    [LABELS.clusterID]: "4a5d",
    [LABELS.memberID]: "8e9e",
  });
  assert.deepEqual(metadata?.annotations, { [ANNOTATIONS.token]: "former-1" });
  assert.deepEqual(spec, {
    accessModes: ["ReadWriteOnce"],
    resources: { requests: { storage: "10Gi" } },
    storageClassName: "fast",
    volumeMode: "Filesystem",
    volumeName: "pv-1",
  });
});
