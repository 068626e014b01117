import assert from "node:assert/strict";
import { test } from "node:test";
import { folderOf, sourceOf } from "./source.ts";

const NONE = {
  endpoint: undefined,
  region: undefined,
  account: undefined,
  "credentials-secret": undefined,
  "ca-secret": undefined,
};
const of = (text: string, flags: Partial<Record<keyof typeof NONE, string>> = {}) =>
  sourceOf(text, { ...NONE, ...flags }, "/here");

test("a URI or a path becomes the source of a restore", () => {
  assert.deepEqual(of("s3://b/prod/a.db", { endpoint: "http://minio:9000", region: "eu" }), {
    s3: { bucket: "b", key: "prod/a.db", endpoint: "http://minio:9000", region: "eu" },
  });
  assert.deepEqual(of("gs://b/a.db"), { gcs: { bucket: "b", key: "a.db" } });
  assert.deepEqual(of("azblob://c/a.db", { account: "acc" }), {
    azure: { account: "acc", container: "c", key: "a.db" },
  });
  assert.deepEqual(of("s3://b/a.db", { "credentials-secret": "store", "ca-secret": "ca" }), {
    s3: { bucket: "b", key: "a.db", credentialsSecret: "store", caSecret: "ca" },
  });
  assert.deepEqual(of("pvc://backups/prod/a.db"), { pvc: { claimName: "backups", path: "prod/a.db" } });
  assert.deepEqual(of("a.db"), { file: { path: "/here/a.db" } });
  assert.deepEqual(of("file:///b/a%20b.db"), { file: { path: "/b/a b.db" } });
});

test("a folder, an unknown scheme and flags of another store are refused", () => {
  assert.throws(() => of("s3://b/prod/"), /names no snapshot/);
  assert.throws(() => of("s3://b"), /names no snapshot/);
  assert.throws(() => of("ftp://b/a.db"), /s3:\/\/, gs:\/\/ or azblob/);
  assert.throws(() => of("azblob://c/a.db"), /--account/);
  assert.throws(() => of("gs://b/a.db", { region: "eu" }), /--region cannot be used/);
  assert.throws(() => of("pvc://b/a.db", { "ca-secret": "ca" }), /--ca-secret cannot be used/);
  assert.throws(() => of("a.db", { endpoint: "http://a" }), /--endpoint cannot be used/);
});

test("a URI or a path becomes the folder of recorded changes", () => {
  const folder = (text: string, flags: Partial<Record<keyof typeof NONE, string>> = {}) =>
    folderOf(text, { ...NONE, ...flags }, "/here");
  assert.deepEqual(folder("s3://b/prod/etcd/", { region: "eu" }), {
    s3: { bucket: "b", prefix: "prod/etcd", region: "eu" },
  });
  assert.deepEqual(folder("gs://b"), { gcs: { bucket: "b" } });
  assert.deepEqual(folder("azblob://c/prod", { account: "acc" }), {
    azure: { account: "acc", container: "c", prefix: "prod" },
  });
  assert.deepEqual(folder("pvc://backups/"), { pvc: { claimName: "backups" } });
  assert.deepEqual(folder("pvc://backups/prod"), { pvc: { claimName: "backups", path: "prod" } });
  assert.deepEqual(folder("./backups/"), { file: { path: "/here/backups" } });
});
