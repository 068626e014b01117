/** That no field which names a Secret escapes the policies for tenants. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { resourceSchema, type SchemaNode } from "../../../src/api/json-schema.ts";
import { etcdClusters, etcdSnapshots, etcdUsers, resources } from "../../../src/api/resources.ts";
import { tenantPolicies } from "./policy-tenants.ts";
import { referencesOf } from "./references.ts";

/** In lists, for which the policy for clusters has rules of their own. */
const IN_LISTS = [
  "image.pullSecrets[]",
  "pod.env[].valueFrom.secretKeyRef.name",
  "pod.env[].valueFrom.secretKeyRef.key",
];

/** Texts, however deep, that by name or description have to do with Secrets. */
function* secretive(node: SchemaNode, path: string): Generator<string> {
  const about = `${path} ${node.description ?? ""}`;
  if (node.type === "string" && !node.enum && /[sS]ecret/.test(about)) yield path;
  for (const [name, child] of Object.entries(node.properties ?? {}))
    yield* secretive(child, path === "" ? name : `${path}.${name}`);
  if (node.items) yield* secretive(node.items, `${path}[]`);
}

test("Secrets, volumes and service accounts are found by the fields that name them", () => {
  const found = (resource: Parameters<typeof referencesOf>[0]) =>
    referencesOf(resource).map(({ path, to }) => `${path} → ${to}`);
  const snapshots = found(etcdSnapshots);
  assert.ok(snapshots.includes("destination.s3.credentialsSecret → Secret"));
  assert.ok(snapshots.includes("destination.pvc.claimName → PersistentVolumeClaim"));
  assert.ok(snapshots.includes("serviceAccountName → ServiceAccount"));
  assert.ok(found(etcdClusters).includes("tls.client.secrets.trustedCA → Secret"));
  assert.deepEqual(found(etcdUsers), ["passwordSecret → Secret"]);
});

for (const resource of resources.filter(({ kind }) => kind !== "EtcdMember"))
  test(`each field of ${resource.kind} that names a Secret is guarded`, () => {
    const spec = resourceSchema(resource.schema).schema.properties?.["spec"];
    assert.ok(spec);
    const known = [...referencesOf(resource).map(({ path }) => path), ...IN_LISTS];
    assert.deepEqual(
      [...secretive(spec, "")].filter((path) => !known.includes(path)),
      [],
    );
  });

test("expressions ask the authorizer at most twice, which is what the API server lets one of them cost", () => {
  for (const { spec } of tenantPolicies()) {
    const { variables = [], validations = [] } = spec as {
      variables?: { expression: string }[];
      validations?: { expression: string }[];
    };
    for (const { expression } of [...variables, ...validations])
      assert.ok(expression.split(".check(").length <= 3, expression);
  }
});
