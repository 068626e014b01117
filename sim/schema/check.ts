/**
 * Whether a value is one for its field, and whether a spec is whole: by the schema and the rules in their TypeScript
 * form, told with the rule that fails, so that what it lacks can be looked for.
 */
import { etcdClusterSchema, type EtcdCluster } from "../../src/api/etcd-cluster.ts";
import type { SchemaNode } from "../../src/api/json-schema.ts";
import { API_VERSION } from "../../src/api/metadata.ts";
import type { Rule } from "../../src/api/rule.ts";
import { validator } from "../../src/api/validate.ts";
import { specNode, tree } from "./fields.ts";

export type Spec = Readonly<Record<string, unknown>>;

const clusters = validator(etcdClusterSchema);

const objectOf = (spec: unknown) => ({
  apiVersion: API_VERSION,
  kind: "EtcdCluster",
  metadata: { name: "demo" },
  spec,
});

/** What is wrong with a spec; with `old`, as a change of that one. */
export function wrongWithSpec(spec: Spec, old?: Spec): string[] {
  const found = clusters.validate(objectOf(spec), old && (objectOf(old) as unknown as EtcdCluster));
  return found.ok ? [] : found.errors.map(({ path, message }) => `${path}: ${message}`);
}

/** Types, bounds and choices are right; the rules are not asked. */
export function hasShape(spec: Spec): boolean {
  return etcdClusterSchema.safeParse(objectOf(spec)).success;
}

/** Without the fields that the schema does not know, which the API server drops unless it is asked to be strict. */
export function pruned(value: unknown, node: SchemaNode = specNode): unknown {
  if (Array.isArray(value)) return value.map((item: unknown) => pruned(item, node.items ?? {}));
  if (!isObject(value) || (!node.properties && !node.additionalProperties)) return value;
  const isOpen = node["x-kubernetes-preserve-unknown-fields"] === true;
  const kept = Object.entries(value).flatMap(([name, child]) => {
    const known = node.properties?.[name] ?? node.additionalProperties;
    if (known) return [[name, pruned(child, known)] as const];
    return isOpen ? [[name, child] as const] : [];
  });
  return Object.fromEntries(kept);
}

/** The spec with its defaults. */
export function completed(spec: Spec): Spec {
  const found = clusters.validate(objectOf(spec));
  if (!found.ok)
    throw new RangeError(`no valid spec: ${found.errors.map(({ message }) => message).join("; ")}`);
  return found.value.spec;
}

export function rulesOf(node: SchemaNode): Rule[] {
  return (node["x-kubernetes-validations"] ?? []).flatMap(({ rule }) => tree.rules.get(rule) ?? []);
}

export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Shape and own rules of a scalar. */
export function fits(node: SchemaNode, value: unknown): boolean {
  return isOfType(node, value) && rulesOf(node).every((rule) => rule.check(value, undefined));
}

function isOfType(node: SchemaNode, value: unknown): boolean {
  if (node.enum && !node.enum.includes(value)) return false;
  if (node["x-kubernetes-int-or-string"])
    return Number.isSafeInteger(value) || (typeof value === "string" && value.length <= 64);
  switch (node.type) {
    case "boolean":
      return typeof value === "boolean";
    case "integer":
      return Number.isSafeInteger(value) && within(node, Number(value));
    case "number":
      return typeof value === "number" && within(node, value);
    case "string":
      return (
        typeof value === "string" &&
        value.length >= (node.minLength ?? 0) &&
        value.length <= (node.maxLength ?? Number.POSITIVE_INFINITY)
      );
    default:
      return false;
  }
}

function within({ minimum, maximum }: SchemaNode, value: number): boolean {
  return value >= (minimum ?? -Infinity) && value <= (maximum ?? Infinity);
}

export interface Failing {
  readonly rule: Rule;
  /** Names and indices from the spec to where the rule hangs. */
  readonly at: readonly (string | number)[];
}

/** The rules that a spec of the right shape breaks. */
export function failing(
  value: unknown,
  old: unknown,
  node: SchemaNode = specNode,
  at: Failing["at"] = [],
): Failing[] {
  if (value === undefined || value === null) return [];
  const found: Failing[] = rulesOf(node)
    .filter((rule) => !(rule.transition && old === undefined) && !holds(rule, value, old))
    .map((rule) => ({ rule, at }));
  if (Array.isArray(value)) {
    const { items } = node;
    return items
      ? [...found, ...value.flatMap((item, index) => failing(item, undefined, items, [...at, index]))]
      : found;
  }
  if (!isObject(value)) return found;
  for (const [name, child] of Object.entries(value)) {
    const inner = node.properties?.[name] ?? node.additionalProperties;
    if (inner) found.push(...failing(child, isObject(old) ? old[name] : undefined, inner, [...at, name]));
  }
  return found;
}

/** A rule that meets another shape than it was made for does not hold. */
function holds(rule: Rule, value: unknown, old: unknown): boolean {
  try {
    return rule.check(value, old);
  } catch {
    return false;
  }
}
