/** What etcd is told of auth tokens. */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { EtcdClusterSpecInput } from "../../api/etcd-cluster-spec.ts";
import { paths, recordOf } from "../testing/record.ts";
import { etcdConfig } from "./flags.ts";

describe("auth tokens", () => {
  const withToken = (token: NonNullable<EtcdClusterSpecInput["auth"]>["token"]) =>
    etcdConfig(recordOf("3.6.16", { auth: { enabled: false, token } }), { established: false, paths });

  test("are etcd's own where nothing else is asked for", () => {
    for (const file of [withToken(undefined), withToken({ type: "Simple" })])
      assert.deepEqual([file["auth-token"], file["auth-token-ttl"]], [undefined, undefined]);
    assert.equal(withToken({ type: "Simple", ttl: "1h" })["auth-token-ttl"], 3600);
  });

  test("are signed with a key that the file names and does not hold", () => {
    const wanted = (ttl: string) => `jwt,priv-key=/tls/auth-token.key,sign-method=HS256,ttl=${ttl}`;
    assert.equal(withToken({ type: "JWT" })["auth-token"], wanted("300s"));
    assert.equal(withToken({ type: "JWT", ttl: "1h" })["auth-token"], wanted("3600s"));
  });
});
