import assert from "node:assert/strict";
import { test } from "node:test";
import type { Secret } from "kubernetes-types/core/v1.d.ts";
import { specOf } from "../../core/testing/cluster.ts";
import { memberSecret, tokenSecret } from "../render/secret.ts";
import { clusterWith } from "../testing/rendered.ts";
import { missingKey, tokenFiles } from "./token-keys.ts";

const view = clusterWith(specOf({ auth: { enabled: false, token: { type: "JWT" } } }));
const { cluster } = view.observation;
const [{ record }] = view.members as [(typeof view.members)[0]];
const records = view.members.map((member) => member.record);
const file = "auth-token-1.key";

/** Caches that hold these Secrets, and the Secret of the keys refused or not. */
function holding(secrets: readonly Secret[], refusal?: string) {
  const stores = { ownObjects: () => ({ secrets }) };
  return { stores, key: "default/demo", waits: { failureOf: () => refusal } } as unknown as Parameters<
    typeof missingKey
  >[0];
}

const ours = tokenSecret(cluster, { [file]: "the key" });
const foreign = { ...ours, metadata: { ...ours.metadata, ownerReferences: [] } };
const own = memberSecret(cluster, record, { [file]: "its own" });

test("a member is given the key of the cluster's Secret; without that it keeps the one it has", () => {
  assert.deepEqual(tokenFiles(holding([ours, own]), cluster, record), { [file]: "the key" });
  for (const secrets of [[own], [foreign, own]])
    assert.deepEqual(tokenFiles(holding(secrets), cluster, record), { [file]: "its own" });
  assert.equal(tokenFiles(holding([foreign]), cluster, record), undefined);
  const stolen = { ...own, metadata: { ...own.metadata, ownerReferences: [] } };
  assert.equal(tokenFiles(holding([stolen]), cluster, record), undefined, "nothing of somebody else's");
});

test("it is told which key is not kept yet, and who refused it", () => {
  assert.equal(missingKey(holding([ours]), cluster, records), undefined);
  const missing = "Secret default/demo-auth-token has no key 1 to sign auth tokens with";
  assert.equal(missingKey(holding([foreign]), cluster, records), missing);
  assert.equal(missingKey(holding([], "exceeded quota"), cluster, records), `${missing}: exceeded quota`);
  const simple = { ...cluster, spec: specOf() };
  assert.equal(missingKey(holding([]), simple, []), undefined, "back to Simple needs none");
});
