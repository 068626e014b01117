/**
 * Field paths as Kubernetes writes them: `spec.tls.extraSANs[0]`, `spec.pod.labels[team]`.
 */
import type { SchemaNode } from "./json-schema.ts";

export function joinPath(parent: string, field: string): string {
  return parent === "" ? field : `${parent}.${field}`;
}

/** The path of a list of keys; the schema tells a map's key from a field. */
export function pathOf(keys: readonly PropertyKey[], root: SchemaNode): string {
  let node: SchemaNode | undefined = root;
  let path = "";
  for (const key of keys) {
    const name = String(key);
    const isField = typeof key !== "number" && !node?.additionalProperties;
    path = isField ? joinPath(path, name) : `${path}[${name}]`;
    node = childOf(node, key);
  }
  return path;
}

function childOf(node: SchemaNode | undefined, key: PropertyKey): SchemaNode | undefined {
  if (typeof key === "number") return node?.items;
  return node?.properties?.[String(key)] ?? node?.additionalProperties;
}

/** The schema at a path, as far as it is known. */
export function nodeAt(root: SchemaNode, keys: readonly PropertyKey[]): SchemaNode | undefined {
  return keys.reduce<SchemaNode | undefined>(childOf, root);
}
