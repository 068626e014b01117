import assert from "node:assert/strict";
import { test } from "node:test";
import type { EtcdClusterStatus } from "../api/etcd-cluster-status.ts";
import type { EtcdCluster } from "../api/etcd-cluster.ts";
import { KubeError } from "../kube/errors.ts";
import { ClusterWorker, type WorkerOptions } from "./cluster-worker.ts";
import { CLUSTER_FINALIZER } from "./names.ts";

/** A worker whose every look ends in `error`, and what it writes into the status. */
function failing(error: () => Error, refusal?: Error) {
  const reported: EtcdClusterStatus[] = [];
  const metadata = {
    name: "demo",
    namespace: "default",
    uid: "u",
    generation: 4,
    finalizers: [CLUSTER_FINALIZER],
  };
  const conditions = [{ type: "Available", status: "True", reason: "Quorum", message: "well" }];
  const cluster = { metadata, status: { conditions } } as unknown as EtcdCluster;
  const fail = () => {
    throw error();
  };
  const stores = new Proxy({}, { get: (_, name) => (name === "cluster" ? () => cluster : fail) });
  const options = {
    stores,
    client: {
      patchStatus: (_kind: unknown, _ref: unknown, status: EtcdClusterStatus) => {
        if (refusal) return Promise.reject(refusal);
        reported.push(status);
        return Promise.resolve();
      },
    },
    clock: { now: () => 0, monotonic: () => 0, timer: () => ({ cancel: () => undefined }) },
    reach: () => ({}),
    events: { record: () => undefined },
    fence: { check: () => undefined },
    log: () => undefined,
  } as unknown as WorkerOptions;
  const worker = new ClusterWorker("default/demo", "u", options);
  const turn = (expected?: RegExp) =>
    assert.rejects(async () => void (await worker.turn(cluster)), expected ?? Error);
  return { reported, turn };
}

test("a fault of the operator's own that lasts is reported in the status, and nothing old is left standing (I6)", async () => {
  const { reported, turn } = failing(() => new TypeError("x is not a function"));
  await turn();
  assert.equal(reported.length, 0, "one may be chance");
  for (let i = 0; i < 4; i++) await turn();
  const { phase, message, conditions } = reported.at(-1) ?? {};
  assert.equal(phase, "Unknown");
  assert.match(message ?? "", /internal error.*x is not a function/i);
  assert.equal(conditions?.find(({ type }) => type === "Available")?.status, "Unknown");
});

test("what the API server refuses is no fault of the operator's own", async () => {
  const { reported, turn } = failing(() => new KubeError("Unavailable", "list pods", "away"));
  for (let i = 0; i < 5; i++) await turn();
  assert.equal(reported.length, 0);
});

test("a fault that cannot be reported is still the one that is thrown", async () => {
  const away = new KubeError("Unavailable", "patch status", "away");
  const { turn } = failing(() => new TypeError("x is not a function"), away);
  for (let i = 0; i < 5; i++) await turn(/x is not a function/);
});
