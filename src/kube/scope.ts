/**
 * Which objects of a resource are meant, narrow enough to be asked of the server and checked here: a cache that
 * takes in every Secret of the cluster is a memory leak and a prize for whoever breaks in.
 */
import type { KubeObject } from "./resources.ts";

export interface Scope {
  /** All namespaces when absent. */
  readonly namespace?: string;
  /** All namespaces but these; only without `namespace`. */
  readonly notNamespaces?: readonly string[];
  /** Only the object of this name. */
  readonly name?: string;
  /** Labels with their values; `true` asks only that the label is there. */
  readonly labels?: Readonly<Record<string, string | true>>;
}

/** The query parameters that make the server select. */
export function selectors(scope: Scope): Record<string, string> {
  const labels = Object.entries(scope.labels ?? {}).map(([name, value]) =>
    value === true ? name : `${name}=${value}`,
  );
  const fields = [
    ...(scope.name === undefined ? [] : [`metadata.name=${scope.name}`]),
    ...(scope.notNamespaces ?? []).map((namespace) => `metadata.namespace!=${namespace}`),
  ];
  return {
    ...(labels.length > 0 && { labelSelector: labels.join(",") }),
    ...(fields.length > 0 && { fieldSelector: fields.join(",") }),
  };
}

/** Whether an object is in the scope, for what did not come through the server's own selection. */
export function isInScope(object: KubeObject, scope: Scope): boolean {
  const { name, namespace, labels = {} } = object.metadata ?? {};
  if (scope.namespace !== undefined && scope.namespace !== namespace) return false;
  if (scope.notNamespaces?.includes(namespace ?? "")) return false;
  if (scope.name !== undefined && scope.name !== name) return false;
  return Object.entries(scope.labels ?? {}).every(([label, value]) =>
    value === true ? Object.hasOwn(labels, label) : labels[label] === value,
  );
}
