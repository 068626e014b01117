import assert from "node:assert/strict";
import { test } from "node:test";
import type { EtcdOperation } from "../../api/etcd-operation.ts";
import { exampleOperation } from "../../api/operation-examples.ts";
import { AWAIT_CLUSTER_MS, verdictOn } from "./dependents.ts";
import type { NamedCluster } from "./named-cluster.ts";

const ABSENT: NamedCluster = { is: "absent" };
const PRESENT: NamedCluster = { is: "present", uid: "uid" };

function operation(more: { owner?: string; startedAt?: string } = {}): EtcdOperation {
  const given = exampleOperation({ restart: {} }, "again");
  const { owner, startedAt } = more;
  const reference = { apiVersion: given.apiVersion, kind: "EtcdCluster", name: "demo", uid: owner ?? "" };
  return {
    ...given,
    metadata: {
      ...given.metadata,
      namespace: "team-a",
      creationTimestamp: "2026-01-01T00:00:00Z",
      ...(owner !== undefined && { ownerReferences: [reference] }),
    },
    ...(startedAt !== undefined && { status: { phase: "Running" as const, startedAt } }),
  };
}

const STARTED = "2026-01-01T00:00:05Z";

test("an operation whose cluster does not exist waits ten minutes for it, and is rejected then", () => {
  const waiting = verdictOn(operation(), ABSENT, 1_000);
  assert.deepEqual([waiting?.phase, waiting?.reason], ["Pending", "ClusterNotFound"]);
  assert.match(waiting?.message ?? "", /demo does not exist in namespace team-a; .* by 2026-01-01T00:10:00Z/);
  const rejected = verdictOn(operation(), ABSENT, AWAIT_CLUSTER_MS);
  assert.deepEqual([rejected?.phase, rejected?.reason], ["Rejected", "ClusterNotFound"]);
});

test("an operation whose cluster exists is told by the worker of that cluster", () => {
  assert.equal(verdictOn(operation(), PRESENT, 0), undefined);
  assert.equal(verdictOn(operation({ owner: "uid", startedAt: STARTED }), PRESENT, 0), undefined);
});

test("an operation of a deleted cluster ends, also where another cluster has the name", () => {
  for (const cluster of [ABSENT, PRESENT]) {
    const begun = verdictOn(operation({ owner: "earlier", startedAt: STARTED }), cluster, 0);
    assert.deepEqual([begun?.phase, begun?.reason], ["Failed", "ClusterDeleted"]);
    const pending = verdictOn(operation({ owner: "earlier" }), cluster, 0);
    assert.deepEqual([pending?.phase, pending?.reason], ["Rejected", "ClusterDeleted"]);
  }
});

test("an operation that started and lost its owner is not continued on whatever cluster has the name", () => {
  const verdict = verdictOn(operation({ startedAt: STARTED }), PRESENT, 0);
  assert.deepEqual([verdict?.phase, verdict?.reason], ["Failed", "ClusterDeleted"]);
  assert.match(verdict?.message ?? "", /owner reference .* was removed/);
});

test("an operation on an invalid cluster without members waits, and says what is wrong with the cluster", () => {
  const verdict = verdictOn(operation(), { is: "invalid", uid: "uid", why: "spec.version: unknown" }, 0);
  assert.deepEqual([verdict?.phase, verdict?.reason], ["Pending", "ClusterInvalid"]);
  assert.match(verdict?.message ?? "", /demo is invalid \(spec\.version: unknown\)/);
});

test("an operation that this release does not understand is rejected with what is wrong", () => {
  const spec = { cluster: "demo", rewind: {} } as unknown as EtcdOperation["spec"];
  const verdict = verdictOn({ ...operation(), spec }, PRESENT, 0);
  assert.deepEqual([verdict?.phase, verdict?.reason], ["Rejected", "UnknownOperation"]);
  assert.match(verdict?.message ?? "", /does not understand .*rewind/);
});
