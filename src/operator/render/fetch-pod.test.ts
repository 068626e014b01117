import assert from "node:assert/strict";
import { test } from "node:test";
import { specOf } from "../../core/testing/cluster.ts";
import { templateFor } from "../../core/template/template.ts";
import { clusterWith, type Wish } from "../testing/rendered.ts";
import { fetchedPlace, fetchPod, restoreClaim, type Fetch } from "./fetch-pod.ts";
import { selectorOf } from "./metadata.ts";

const PLAN = "51f0a3c2d4e5b697";
const source = { s3: { bucket: "backups", key: "a$(HOME).db", credentialsSecret: "store", caSecret: "ca" } };
const FETCH: Fetch = {
  kind: "FetchSnapshot",
  plan: PLAN,
  restore: { source, checksum: "a".repeat(64), encryption: { keySecret: "key" } },
  version: "3.6.16",
  attempt: 2,
  operation: "operation",
};

function rendered(wish: Wish = {}, node?: string) {
  const spec = specOf(wish);
  const { cluster } = clusterWith(spec).observation;
  const template = templateFor(spec, spec.version);
  const pod = fetchPod(cluster, FETCH, { image: "registry.example/quorate:1", template, node });
  return { cluster, template, pod, claim: restoreClaim(cluster, PLAN, template) };
}

test("the snapshot is fetched onto a claim of the size of a member's, by our image, once", () => {
  const { pod, claim, cluster, template } = rendered({ storage: { size: "7Gi", className: "fast" } });
  assert.equal(pod.metadata?.name, `demo-${PLAN}-2-fetch`);
  assert.equal(pod.spec?.restartPolicy, "Never");
  assert.equal(pod.spec?.automountServiceAccountToken, false);
  assert.equal(claim.spec?.resources?.requests?.["storage"], "7Gi");
  assert.equal(claim.spec?.storageClassName, "fast");
  assert.equal(claim.metadata?.ownerReferences?.[0]?.uid, cluster.uid);
  assert.equal(pod.spec?.volumes?.[0]?.persistentVolumeClaim?.claimName, claim.metadata?.name);
  assert.deepEqual(fetchedPlace(cluster, PLAN, template), {
    pvc: { claimName: claim.metadata?.name, path: "restore/snapshot.db" },
  });
});

test("Secrets are named and never passed through, and nothing of the source is expanded by a kubelet", () => {
  const [container] = rendered().pod.spec?.containers ?? [];
  const args = container?.args?.join(" ") ?? "";
  assert.match(
    args,
    /^snapshot stage \/var\/lib\/etcd --etcd-version 3\.6\.16 .*--encryption-key-file \S+.*--result-file/,
  );
  const given = container?.env?.find(({ name }) => name === "QUORATE_RESTORE")?.value ?? "";
  assert.ok(given.includes("a$$(HOME).db"), given);
  const key = container?.env?.find(({ name }) => name === "AWS_SECRET_ACCESS_KEY");
  assert.equal(key?.valueFrom?.secretKeyRef?.name, "store");
});

test("no selector of the cluster means it, and its identity for the store is that of the members", () => {
  const { pod, cluster } = rendered({ pod: { serviceAccountName: "reader" } });
  const selector = Object.entries(selectorOf(cluster, "all"));
  assert.ok(selector.some(([label, value]) => pod.metadata?.labels?.[label] !== value));
  assert.equal(pod.spec?.serviceAccountName, "reader");
});

test("with HostPath it is a directory of the node that was chosen, which no other cluster has", () => {
  const { pod, cluster, template } = rendered(
    { storage: { medium: "HostPath", size: "1Gi", hostPath: "/data/" } },
    "node-a",
  );
  const at = `/data/${cluster.namespace}/demo.${cluster.uid}/restore.${PLAN}`;
  assert.equal(pod.spec?.volumes?.[0]?.hostPath?.path, at);
  assert.match(JSON.stringify(pod.spec?.affinity), /"values":\["node-a"\]/);
  assert.deepEqual(fetchedPlace(cluster, PLAN, template), { file: { path: `${at}/restore/snapshot.db` } });
});
