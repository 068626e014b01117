import assert from "node:assert/strict";
import { test } from "node:test";
import { customResourceDefinition } from "./crd.ts";
import { resourceSchema, type SchemaNode } from "./json-schema.ts";
import { referencePage } from "./reference.ts";
import { etcdClusters, resources } from "./resources.ts";

interface Definition {
  spec: {
    names: { shortNames: string[]; categories: string[] };
    versions: {
      schema: { openAPIV3Schema: SchemaNode };
      additionalPrinterColumns: { name: string }[];
      subresources: Record<string, unknown>;
    }[];
  };
}

function definition(resource: (typeof resources)[number]): Definition {
  return customResourceDefinition(resource) as Definition;
}

function nodes(node: SchemaNode, path: string): [string, SchemaNode][] {
  const children: [string, SchemaNode | undefined][] = [
    ...Object.entries(node.properties ?? {}),
    ["[]", node.items],
    ["{}", node.additionalProperties],
  ];
  return [
    [path, node],
    ...children.flatMap(([name, child]) => (child ? nodes(child, `${path}.${name}`) : [])),
  ];
}

test("every node has a type, and nothing of ours alone is left in it", () => {
  for (const resource of resources) {
    const root = definition(resource).spec.versions[0]?.schema.openAPIV3Schema ?? {};
    for (const [path, node] of nodes(root, resource.kind)) {
      assert.ok(node.type !== undefined || node["x-kubernetes-int-or-string"], `${path} has no type`);
      for (const key of [
        "rules",
        "kubernetesOnly",
        "kubernetesType",
        "defaultOf",
        "$schema",
        "propertyNames",
        "const",
      ]) {
        assert.ok(!(key in node), `${path} has ${key}`);
      }
      assert.ok(!(node.properties && node.additionalProperties), `${path} is an object and a map`);
    }
  }
});

test("the cluster can be scaled, has a status, short name, category and its columns", () => {
  const { names, versions } = definition(etcdClusters).spec;
  assert.deepEqual(names.shortNames, ["ec"]);
  assert.deepEqual(names.categories, ["etcd"]);
  assert.deepEqual(versions[0]?.subresources, {
    status: {},
    scale: {
      specReplicasPath: ".spec.replicas",
      statusReplicasPath: ".status.replicas",
      labelSelectorPath: ".status.selector",
    },
  });
  assert.deepEqual(
    versions[0]?.additionalPrinterColumns.map((column) => column.name),
    ["Ready", "Phase", "Healthy", "Replicas", "Version", "Leader", "Age", "Message"],
  );
});

test("a member can be found by its scale, whatever operator wrote its record", () => {
  const member = resources.find((resource) => resource.kind === "EtcdMember");
  assert.ok(member);
  const [version] = definition(member).spec.versions;
  assert.deepEqual(version?.subresources, definition(etcdClusters).spec.versions[0]?.subresources);
  const spec = version?.schema.openAPIV3Schema.properties?.["spec"];
  assert.equal(spec?.properties?.["replicas"]?.default, 1);
});

test("a default under rules is spelled out, because the API server checks it as written", () => {
  const spec = definition(etcdClusters).spec.versions[0]?.schema.openAPIV3Schema.properties?.["spec"];
  assert.deepEqual(spec?.properties?.["repair"]?.default, {
    unhealthyAfter: "2m",
    memberLostAfter: "5m",
    maxReplacementsPerHour: 4,
  });
});

test("a member's template has no defaults: a newer definition must not reach into what already runs", () => {
  const member = resources.find((resource) => resource.kind === "EtcdMember");
  assert.ok(member);
  const withDefault = nodes(definition(member).spec.versions[0]?.schema.openAPIV3Schema ?? {}, "")
    .filter(([, node]) => node.default !== undefined)
    .map(([path]) => path);
  // Which is for the scale subresource alone, and has one value.
  assert.deepEqual(withDefault, [".spec.replicas"]);
});

test("every field a user can set is described", () => {
  const spec = resourceSchema(etcdClusters.schema).schema.properties?.["spec"] ?? {};
  const missing = undescribed(spec, "spec");
  assert.deepEqual(missing, []);
});

function undescribed(node: SchemaNode, path: string): string[] {
  if (node.kubernetesType !== undefined) return [];
  return Object.entries(node.properties ?? {}).flatMap(([name, child]) => [
    ...(child.description === undefined ? [`${path}.${name}`] : []),
    ...undescribed(child, `${path}.${name}`),
  ]);
}

test("the reference page names every field, every default and every rule", () => {
  const page = referencePage(etcdClusters);
  const { schema, rules } = resourceSchema(etcdClusters.schema);
  for (const [name, field] of Object.entries(schema.properties?.["spec"]?.properties ?? {})) {
    assert.ok(page.includes(`| \`${name}\` |`), name);
    if (typeof field.default === "number") assert.ok(page.includes(`\`${field.default}\``), name);
  }
  for (const rule of rules.values()) assert.ok(page.includes(rule.message), rule.message);
});
