/**
 * Nothing is accepted and ignored: every field of the schema that concerns Pods, volumes, images, Services and
 * the budget is walked, and two values of it make two different sets of objects. A field that is added to the
 * schema and not rendered fails here by itself.
 */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { etcdClusterSchema } from "../../api/etcd-cluster.ts";
import type { EtcdClusterSpec } from "../../api/etcd-cluster-spec.ts";
import { resourceSchema, type SchemaNode } from "../../api/json-schema.ts";
import { ANNOTATIONS } from "../names.ts";
import { clusterWith, defaultSpec, rendered } from "../testing/rendered.ts";

type Fields = Record<string, unknown>;
interface Leaf {
  readonly path: string;
  /** At least two values of the whole section that differ in this leaf only. */
  readonly values: readonly unknown[];
}

const SECTIONS = ["pod", "storage", "image", "service", "metadata", "disruptionBudget"] as const;

/** Not of the objects: steps read it when a volume is no longer needed, or is found at the first boot. */
const OF_STEPS = new Set([
  "storage.retention.onDelete",
  "storage.retention.onScaleIn",
  "storage.adopt.clusterID",
  "storage.adopt.token",
  "storage.adopt.directories[].node",
  "storage.adopt.directories[].path",
]);

/** Of which only one value is valid, the default. */
const OF_ONE_VALUE = new Set(["storage.volumeMode"]);

/** What else has to be so for a field to mean something. */
const BESIDE: Readonly<Record<string, Fields>> = { "storage.hostPath": { medium: "HostPath" } };

function leavesOf(node: SchemaNode, path: string): Leaf[] {
  const wrap = (inner: SchemaNode, at: string, around: (value: unknown) => unknown): Leaf[] =>
    leavesOf(inner, at).map((leaf) => ({ path: leaf.path, values: leaf.values.map(around) }));
  if (node.properties) {
    const needed = Object.fromEntries(
      (node.required ?? []).map((name) => [name, sample(node.properties?.[name] ?? {})]),
    );
    const known = Object.entries(node.properties).flatMap(([name, child]) =>
      wrap(child, `${path}.${name}`, (value) => ({ ...needed, [name]: value })),
    );
    const loose = node["x-kubernetes-preserve-unknown-fields"];
    const more = { path: `${path}.<any>`, values: [1, 2].map((value) => ({ ...needed, any: value })) };
    return loose ? [...known, more] : known;
  }
  if (node.items) return wrap(node.items, `${path}[]`, (value) => [value]);
  if (node.additionalProperties)
    return wrap(node.additionalProperties, `${path}.<key>`, (value) => ({ key: value }));
  return [{ path, values: valuesOf(node) }];
}

function valuesOf(node: SchemaNode): unknown[] {
  if (node.enum) return node.enum;
  if (node["x-kubernetes-int-or-string"]) return ["1Gi", "2Gi"];
  if (node.type === "boolean") return [true, false];
  if (node.type === "integer") return [(node.minimum ?? 0) + 1, (node.minimum ?? 0) + 2];
  if (node.type === "object") return [{ any: 1 }, { any: 2 }];
  return ["one", "two"];
}

/** Without the hash of the template, which changes with every field by itself. */
function textOf(objects: readonly object[]): string {
  return JSON.stringify(objects, (key, value: unknown) =>
    key === ANNOTATIONS.startedFrom ? undefined : value,
  );
}

/** The first value of each field that has to be there. */
function sample(node: SchemaNode): unknown {
  return leavesOf(node, "")[0]?.values[0];
}

const specNode = resourceSchema(etcdClusterSchema).schema.properties?.["spec"];

describe("every field changes what is rendered", () => {
  for (const section of SECTIONS) {
    const node = specNode?.properties?.[section];
    assert.ok(node, section);
    for (const { path, values } of leavesOf(node, section)) {
      if (OF_STEPS.has(path) || OF_ONE_VALUE.has(path)) continue;
      test(path, () => {
        const texts = values.map((value) => {
          const base = defaultSpec();
          const given = { ...base[section], ...BESIDE[path], ...(value as Fields) };
          const spec = { ...base, [section]: given } as EtcdClusterSpec;
          return textOf(rendered(clusterWith(spec)));
        });
        assert.ok(values.length >= 2, "needs two values to compare");
        assert.equal(new Set(texts).size, values.length);
      });
    }
  }
});

test("the walk sees nested fields, lists, maps and Kubernetes' own shapes", () => {
  const paths = SECTIONS.flatMap((section) => leavesOf(specNode?.properties?.[section] ?? {}, section)).map(
    ({ path }) => path,
  );
  for (const path of [
    "pod.resources.limits.<key>",
    "pod.affinity.podAntiAffinity.requiredDuringSchedulingIgnoredDuringExecution[].topologyKey",
    "pod.tolerations[].tolerationSeconds",
    "pod.sidecars[].<any>",
    "pod.env[].valueFrom.secretKeyRef.name",
    "image.pullSecrets[]",
    "service.annotations.<key>",
  ])
    assert.ok(paths.includes(path), `${path} is not among ${paths.length} paths`);
});
