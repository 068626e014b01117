/**
 * Which fields of a spec mean something on Kubernetes only. Other platforms name them in one warning
 * and in `status.notApplicable`, and refuse those that would change what happens to data.
 */
import { etcdClusterSchema } from "./etcd-cluster.ts";
import { resourceSchema, type SchemaNode } from "./json-schema.ts";
import { joinPath } from "./path.ts";
import type { KubernetesOnly } from "./rule.ts";

export interface KubernetesOnlyField {
  /** Like `spec.pod.nodeSelector`. */
  readonly path: string;
  readonly effect: KubernetesOnly;
}

let specNode: SchemaNode | undefined;

/** Made once: a platform asks on every pass, and making it takes milliseconds. */
function specSchema(): SchemaNode | undefined {
  specNode ??= resourceSchema(etcdClusterSchema).schema.properties?.["spec"];
  return specNode;
}

/**
 * Fields set to something else than their default. What has its default value asks for nothing, so it
 * makes no difference whether the spec is as written or has its defaults filled in.
 */
export function kubernetesOnlyFields(cluster: { spec: unknown }): KubernetesOnlyField[] {
  const spec = specSchema();
  return spec ? walk(spec, cluster.spec, "spec", undefined) : [];
}

function walk(
  node: SchemaNode,
  value: unknown,
  path: string,
  inherited: KubernetesOnly | undefined,
): KubernetesOnlyField[] {
  if (value === undefined || value === null || sameAsDefault(node, value)) return [];
  const effect = node.kubernetesOnly ?? inherited;
  // Below a marked object its own fields are named; deeper detail would only make the list long.
  if (inherited !== undefined || (effect !== undefined && !node.properties))
    return effect ? [{ path, effect }] : [];
  const fields = value as Record<string, unknown>;
  return Object.entries(node.properties ?? {}).flatMap(([name, child]) =>
    walk(child, fields[name], joinPath(path, name), effect),
  );
}

function sameAsDefault(node: SchemaNode, value: unknown): boolean {
  return node.default !== undefined && canonical(node.default) === canonical(value);
}

/** JSON with sorted keys, so that order does not count. */
function canonical(value: unknown): string {
  return JSON.stringify(value, (_key, inner: unknown) =>
    typeof inner === "object" && inner !== null && !Array.isArray(inner)
      ? Object.fromEntries(Object.entries(inner).toSorted(([a], [b]) => (a < b ? -1 : 1)))
      : inner,
  );
}
