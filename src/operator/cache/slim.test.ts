import assert from "node:assert/strict";
import { test } from "node:test";
import { FILES } from "../render/config.ts";
import { clientSecret, memberSecret } from "../render/secret.ts";
import { clusterWith, defaultSpec, memberOf } from "../testing/rendered.ts";
import { slimSecret } from "./slim.ts";

const view = clusterWith(defaultSpec());
const { cluster } = view.observation;
const files = Object.fromEntries(Object.values(FILES).map((file) => [file, "x".repeat(4_000)]));
const ours = [
  memberSecret(cluster, memberOf(view), files, { note: "kept" }),
  clientSecret(cluster, { certificate: "certificate", key: "key", ca: "ca" }),
];

test("a Secret of ours is kept as it is", () => {
  for (const secret of ours) assert.deepEqual(slimSecret(secret), secret);
});

test("of a Secret that only has our label nothing but its metadata is kept", () => {
  for (const secret of ours) {
    const { ownerReferences: _, ...metadata } = secret.metadata ?? {};
    const kept = slimSecret({ ...secret, metadata, data: { "tls.crt": "eA==" } });
    assert.deepEqual(kept.data, {});
    assert.deepEqual(kept.metadata, metadata);
  }
});

test("files that nobody reads, and files that are too large to be ours, are not kept", () => {
  for (const secret of ours) {
    const more = { ...secret.data, other: "eA==", "ca.crt": "A".repeat(1_000_000) };
    const { "ca.crt": _, ...rest } = secret.data ?? {};
    assert.deepEqual(slimSecret({ ...secret, data: more }).data, rest);
  }
});
