import assert from "node:assert/strict";
import { test } from "node:test";
import type { RestoreRecipe } from "../../api/bootstrap.ts";
import { specOf } from "../../core/testing/cluster.ts";
import { ANNOTATIONS, RESTORE_CONTAINERS } from "../names.ts";
import { clusterWith, memberOf } from "../testing/rendered.ts";
import { memberPod } from "./pod.ts";

const S3: RestoreRecipe = { source: { s3: { bucket: "backups", key: "prod/demo.db" } } };
const IMAGE = "registry.example/quorate:1";

function podOf(restore: RestoreRecipe | undefined, { joined = false, image = IMAGE } = {}) {
  const view = clusterWith(specOf());
  const record = { ...memberOf(view), joined, restore };
  const how = { role: "voter", gated: false, ...(image !== "" && { image }) } as const;
  return memberPod(view.observation.cluster, record, how);
}

const namesIn = (pod: ReturnType<typeof podOf>) => pod.spec?.initContainers?.map(({ name }) => name);
const container = (pod: ReturnType<typeof podOf>, name: string) => {
  const found = pod.spec?.initContainers?.find((one) => one.name === name);
  assert.ok(found);
  return found;
};

test("a member that starts from a snapshot is restored in its Pod before etcd starts", () => {
  const pod = podOf({ ...S3, revision: 7, raiseTo: 5_000_000_007 });
  assert.deepEqual(namesIn(pod), ["fetch-snapshot", "restore-snapshot", "place-data"]);
  const etcdutl = container(pod, RESTORE_CONTAINERS.etcdutl);
  assert.equal(etcdutl.image, pod.spec?.containers[0]?.image);
  assert.deepEqual(etcdutl.command, ["etcdutl"]);
  assert.ok(etcdutl.args?.includes("--bump-revision=5000000000"));
  assert.ok(etcdutl.args?.includes("--mark-compacted"));
  assert.ok(
    etcdutl.args?.includes("--data-dir=/var/lib/etcd/restore/data"),
    "never in the member's own place",
  );
  for (const { image } of [container(pod, "fetch-snapshot"), container(pod, "place-data")])
    assert.equal(image, IMAGE);
});

test("once it has joined, a new Pod has none of it, and in the old one nothing happens again", () => {
  assert.equal(namesIn(podOf(S3, { joined: true })), undefined);
  const flag = (joined: boolean) => podOf(S3, { joined }).metadata?.annotations?.[ANNOTATIONS.restore];
  assert.deepEqual([flag(false), flag(true)], ["--skip-hash-check=false", "--help"]);
  for (const one of podOf(S3).spec?.initContainers ?? []) {
    assert.equal(one.args?.at(-1), "$(QUORATE_RESTORE_FLAG)");
    assert.match(JSON.stringify(one.env), /metadata\.annotations\['etcd\.quorate\.dev\/restore-flag'\]/);
  }
});

test("other members, and Pods of an operator that does not know its image, have none of it", () => {
  assert.equal(namesIn(podOf(undefined)), undefined);
  assert.equal(podOf(undefined).metadata?.annotations?.[ANNOTATIONS.restore], undefined);
  assert.equal(namesIn(podOf(S3, { image: "" })), undefined);
});

test("Secrets are named and never read: credentials as variables, a CA and a key as files", () => {
  const pod = podOf({
    source: { s3: { bucket: "backups", key: "a.db", credentialsSecret: "cred", caSecret: "ca" } },
    encryption: { keySecret: "key" },
    revisionBump: "None",
  });
  const fetch = container(pod, "fetch-snapshot");
  const variables = fetch.env?.filter(({ valueFrom }) => valueFrom?.secretKeyRef).map(({ name }) => name);
  assert.deepEqual(variables, ["AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN"]);
  assert.ok(fetch.args?.includes("/etc/quorate/store-ca/ca.crt"));
  assert.ok(fetch.args?.includes("/etc/quorate/encryption/key"));
  assert.deepEqual(pod.spec?.volumes?.flatMap(({ secret }) => secret?.secretName ?? []).slice(1), [
    "ca",
    "key",
  ]);
  assert.equal(
    container(pod, "restore-snapshot").args?.some((one) => one.startsWith("--bump-revision")),
    false,
  );
});

test("a claim is mounted read-only, by the first step alone", () => {
  const pod = podOf({ source: { pvc: { claimName: "backups", path: "prod/demo.db" } } });
  const claim = pod.spec?.volumes?.find(({ name }) => name === "snapshots")?.persistentVolumeClaim;
  assert.deepEqual(claim, { claimName: "backups", readOnly: true });
  assert.ok(container(pod, "fetch-snapshot").args?.includes("--claim-dir"));
  assert.equal(
    container(pod, "place-data").volumeMounts?.some(({ name }) => name === "snapshots"),
    false,
  );
});

test("a record from before the revision was raised to something keeps its Pod, and what fetches sees what was asked for", () => {
  const args = container(podOf(S3), RESTORE_CONTAINERS.etcdutl).args;
  assert.ok(args?.includes("--bump-revision=1000000000"));
  const { env } = container(podOf({ ...S3, revision: 7, raiseTo: 9 }), RESTORE_CONTAINERS.stage);
  assert.deepEqual(env, container(podOf(S3), RESTORE_CONTAINERS.stage).env);
});

test("what the spec asks for has to fit the quota of the member; what a recovery left is taken as it is", () => {
  const argsOf = (restore: RestoreRecipe) => container(podOf(restore), RESTORE_CONTAINERS.stage).args ?? [];
  const asked = argsOf({ ...S3, fitsQuota: true });
  assert.equal(asked[asked.indexOf("--quota-bytes") + 1], String(2 * 1024 ** 3));
  assert.ok(!argsOf(S3).includes("--quota-bytes"));
});

test("no variable of the Pod is expanded in what a spec says", () => {
  const pod = podOf({
    source: { s3: { bucket: "b", key: "a.db", endpoint: "http://$(AWS_SECRET_ACCESS_KEY).example" } },
  });
  const { env } = container(pod, RESTORE_CONTAINERS.stage);
  const value = env?.find(({ name }) => name === "QUORATE_RESTORE")?.value ?? "";
  assert.match(value, /http:\/\/\$\$\(AWS_SECRET_ACCESS_KEY\)\.example/);
});

test("Google Cloud Storage and Azure are reached with mounted files, or with the identity of the Pod", () => {
  const gcs = podOf({ source: { gcs: { bucket: "b", key: "a.db", credentialsSecret: "google" } } });
  const variables = container(gcs, "fetch-snapshot").env?.map(({ name }) => name);
  assert.ok(variables?.includes("GOOGLE_APPLICATION_CREDENTIALS"));
  const azure = { account: "acc", container: "c", key: "a.db" };
  const withSecret = podOf({ source: { azure: { ...azure, credentialsSecret: "azure", caSecret: "ca" } } });
  const { args } = container(withSecret, "fetch-snapshot");
  assert.ok(args?.includes("/etc/quorate/store-credentials") && args.includes("--store-ca-file"));
  const label = (pod: ReturnType<typeof podOf>) => pod.metadata?.labels?.["azure.workload.identity/use"];
  assert.equal(label(withSecret), undefined);
  assert.equal(label(podOf({ source: { azure } })), "true");
  assert.equal(label(podOf({ source: { azure } }, { joined: true })), undefined);
});
