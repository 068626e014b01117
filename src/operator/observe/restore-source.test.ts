import assert from "node:assert/strict";
import { test } from "node:test";
import type { EtcdSnapshot } from "../../api/etcd-snapshot.ts";
import { exampleSnapshot } from "../../api/snapshot-examples.ts";
import { restoreOf } from "./restore-source.ts";

const image = "registry.example/quorate:1";
const asked = { bootstrap: { restore: { snapshot: "nightly", revisionBump: "None" } } };

function taken(spec: Partial<EtcdSnapshot["spec"]>, status: EtcdSnapshot["status"]): EtcdSnapshot {
  return { ...exampleSnapshot(spec, "nightly"), status };
}

const found = (snapshot: EtcdSnapshot | undefined) => restoreOf(asked, { image, snapshot: () => snapshot });

test("an EtcdSnapshot that has succeeded says where it is, its checksum and its key", () => {
  const s3 = { bucket: "backups", prefix: "prod", credentialsSecret: "store", sse: "AES256" as const };
  const snapshot = taken(
    { destination: { s3 }, encryption: { keySecret: "key" } },
    { phase: "Succeeded", uri: "s3://backups/prod/demo.db.enc", sha256: "a".repeat(64), revision: 7 },
  );
  assert.deepEqual(found(snapshot).restoreFrom, {
    snapshot: "nightly",
    revisionBump: "None",
    source: { s3: { bucket: "backups", key: "prod/demo.db.enc", credentialsSecret: "store" } },
    checksum: "a".repeat(64),
    revision: 7,
    encryption: { keySecret: "key" },
  });
  const onVolume = taken(
    { destination: { pvc: { claimName: "backups", path: "prod/" } } },
    { phase: "Succeeded", uri: "pvc://backups/prod/demo.db" },
  );
  assert.deepEqual(found(onVolume).restoreFrom?.source, {
    pvc: { claimName: "backups", path: "prod/demo.db" },
  });
});

test("one that is not there, or has not succeeded, is refused by name", () => {
  assert.match(found(undefined).restoreRefused?.message ?? "", /no EtcdSnapshot nightly/);
  for (const phase of ["Pending", "Running", "Failed", "Deleting"] as const)
    assert.match(
      found(taken({}, { phase })).restoreRefused?.message ?? "",
      new RegExp(`not succeeded \\(${phase}\\)`),
    );
  assert.equal(found(undefined).restoreRefused?.field, "spec.bootstrap.restore.snapshot");
});

test("one that is being deleted is refused: its object may go before it is read", () => {
  const snapshot = taken({}, { phase: "Succeeded", uri: "s3://backups/prod/demo.db" });
  const deletionTimestamp = "2026-01-01T00:00:00Z";
  const leaving = { ...snapshot, metadata: { ...snapshot.metadata, deletionTimestamp } };
  const { restoreFrom, restoreRefused } = found(leaving);
  assert.equal(restoreFrom, undefined);
  assert.match(restoreRefused?.message ?? "", /nightly is being deleted/);
});

test("a file of a machine, and an operator without its image, restore nothing", () => {
  const file = { bootstrap: { restore: { source: { file: { path: "/a.db" } } } } };
  assert.match(restoreOf(file, { image }).restoreRefused?.field ?? "", /source\.file$/);
  assert.match(restoreOf(asked, {}).restoreRefused?.message ?? "", /--image/);
  assert.deepEqual(restoreOf({}, {}), {});
});
