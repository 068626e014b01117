import assert from "node:assert/strict";
import { test } from "node:test";
import { migrate, restoreArguments, type RestoreOptions } from "./etcdutl.ts";

const options: RestoreOptions = {
  snapshot: "s.db",
  dataDir: "data",
  name: "m1",
  peerUrls: ["http://a:2380"],
  initialCluster: ["m1=http://a:2380", "m2=http://b:2380"],
  token: "t",
};

test("a restore names the member, all members and the new token (R24)", () => {
  assert.deepEqual(restoreArguments("3.6.16", options), [
    "snapshot",
    "restore",
    "s.db",
    "--data-dir=data",
    "--name=m1",
    "--initial-cluster=m1=http://a:2380,m2=http://b:2380",
    "--initial-cluster-token=t",
    "--initial-advertise-peer-urls=http://a:2380",
  ]);
});

test("bumping the revision and marking it compacted go together, from 3.5.10 on (R24)", () => {
  const bumped = { ...options, bumpRevision: 1_000_000_000n };
  assert.deepEqual(restoreArguments("3.5.10", bumped).slice(-2), [
    "--bump-revision=1000000000",
    "--mark-compacted",
  ]);
  assert.throws(() => restoreArguments("3.5.9", bumped), { reason: "not-supported" });
});

test("migration needs the tool of 3.6 (R13)", async () => {
  await assert.rejects(migrate({ binary: "etcdutl", version: "3.5.35", env: {} }, "data", "3.5"), {
    reason: "not-supported",
  });
});
