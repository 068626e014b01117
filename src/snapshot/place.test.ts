import assert from "node:assert/strict";
import { test } from "node:test";
import type { Destination } from "../api/destination.ts";
import { folderURI, sourceAt, sourceURI, storeSettings } from "./place.ts";

test("a source is told as a person would write it", () => {
  assert.equal(sourceURI({ s3: { bucket: "b", key: "a/b.db" } }), "s3://b/a/b.db");
  assert.equal(sourceURI({ gcs: { bucket: "b", key: "a/b.db" } }), "gs://b/a/b.db");
  assert.equal(sourceURI({ azure: { account: "acc", container: "c", key: "a.db" } }), "azblob://c/a.db");
  assert.equal(sourceURI({ pvc: { claimName: "c", path: "a/b.db" } }), "pvc://c/a/b.db");
  assert.equal(sourceURI({ file: { path: "/a b.db" } }), "file:///a%20b.db");
  assert.equal(sourceURI({ file: { path: "/a#b?c%20.db" } }), "file:///a%23b%3Fc%2520.db");
});

const DESTINATIONS: readonly [Destination, string, object][] = [
  [
    { s3: { bucket: "b", prefix: "prod", region: "eu", sse: "AES256" } },
    "s3://b/prod/",
    { s3: { bucket: "b", region: "eu", key: "prod/a.db" } },
  ],
  [
    { gcs: { bucket: "b", prefix: "prod/", kmsKey: "k", credentialsSecret: "s" } },
    "gs://b/prod/",
    { gcs: { bucket: "b", credentialsSecret: "s", key: "prod/a.db" } },
  ],
  [
    { azure: { account: "acc", container: "c", encryptionScope: "scope", endpoint: "http://a:1/acc" } },
    "azblob://c/",
    { azure: { account: "acc", container: "c", endpoint: "http://a:1/acc", key: "a.db" } },
  ],
  [
    { pvc: { claimName: "c", path: "prod" } },
    "pvc://c/prod/",
    { pvc: { claimName: "c", path: "prod/a.db" } },
  ],
  [{ file: { path: "/my backups" } }, "file:///my%20backups/", { file: { path: "/my backups/a.db" } }],
];

test("what was written to a destination is a source that is reached the same way", () => {
  for (const [destination, folder, source] of DESTINATIONS) {
    assert.equal(folderURI(destination), folder);
    assert.deepEqual(sourceAt(destination, `${folder}a.db`), source);
  }
});

test("a URI of another place is no source", () => {
  for (const [destination] of DESTINATIONS)
    for (const uri of ["", "s3://others/a.db", "s3://b/", "gs://others/a.db", "pvc://other/a.db"])
      assert.equal(sourceAt(destination, uri), undefined, uri);
});

test("how a store is reached comes from the place, what is mounted from the Pod", () => {
  const azure = { account: "acc", container: "c", endpoint: "https://azurite/acc" };
  assert.deepEqual(storeSettings({ azure }, { caFile: "/ca.crt", credentialsDir: "/credentials" }).azure, {
    account: "acc",
    endpoint: "https://azurite/acc",
    caFile: "/ca.crt",
    credentialsDir: "/credentials",
  });
  assert.deepEqual(storeSettings({ gcs: { bucket: "b", endpoint: "https://gcs" } }).gcs, {
    endpoint: "https://gcs",
    caFile: undefined,
  });
});
