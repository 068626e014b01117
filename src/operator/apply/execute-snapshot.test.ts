import assert from "node:assert/strict";
import { test } from "node:test";
import { snapshotNamed } from "../../core/testing/snapshots.ts";
import { bench } from "../../kube/testing.ts";
import type { KubeRequest } from "../../seams/kube-transport.ts";
import { executeSnapshot } from "./execute-snapshot.ts";

test("a Job that is deleted stays until its Pods are gone: the next one meets none that still writes", async () => {
  const { client, server } = bench();
  const requests: KubeRequest[] = [];
  server.intercept = (request) => {
    requests.push(request);
    return { status: 200, body: {} };
  };
  const stores = { snapshot: () => undefined, schedule: () => undefined };
  const effect = {
    kind: "DeleteJob",
    snapshot: snapshotNamed("a"),
    job: "a-save-1",
    uid: "job-uid",
  } as const;
  await executeSnapshot({ client, stores, namespace: "prod", image: undefined }, effect);
  const [{ method, path, body } = {}] = requests;
  assert.deepEqual(
    [requests.length, method, path],
    [1, "DELETE", "/apis/batch/v1/namespaces/prod/jobs/a-save-1"],
  );
  assert.match(JSON.stringify(body), /"propagationPolicy":"Foreground"/);
});
