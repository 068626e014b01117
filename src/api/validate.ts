/**
 * Validation for the platforms without an API server: the same schema, the same rules, the same
 * messages. Unlike the API server it names every error at once and guesses what an unknown field was
 * meant to be.
 */
import type { z } from "zod";
import { resourceSchema, type ResourceSchema, type SchemaNode } from "./json-schema.ts";
import { joinPath, nodeAt, pathOf } from "./path.ts";
import type { Rule } from "./rule.ts";
import { suggestField } from "./suggest.ts";

export interface ApiError {
  /** The field, like `spec.storage.size`; empty for the whole document. */
  readonly path: string;
  readonly message: string;
  /** Line in the YAML text, from 1, where known. */
  readonly line?: number;
}

export type Validated<T> = { ok: true; value: T } | { ok: false; errors: ApiError[] };

export interface Validator<T> {
  /** `old` is the object as it was: with it, rules about changes are checked too. */
  validate(input: unknown, old?: T): Validated<T>;
}

export function validator<S extends z.ZodType>(schema: S): Validator<z.output<S>> {
  let tree: ResourceSchema | undefined;
  return {
    validate(input, old) {
      tree ??= resourceSchema(schema);
      const root = tree.schema;
      const parsed = schema.safeParse(withoutNulls(input));
      if (!parsed.success)
        return { ok: false, errors: parsed.error.issues.flatMap((issue) => explain(issue, root, input)) };
      const errors = checkRules(tree, root, parsed.data, old, "");
      return errors.length > 0 ? { ok: false, errors } : { ok: true, value: parsed.data };
    },
  };
}

/** A field without a value (`pod:` in YAML) counts as absent, as on the API server. */
function withoutNulls(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutNulls);
  if (!isRecord(value)) return value;
  const kept = Object.entries(value).filter(([, child]) => child !== null && child !== undefined);
  return Object.fromEntries(kept.map(([name, child]) => [name, withoutNulls(child)]));
}

/** The words of the API server for what is wrong with the shape, so that both say the same. */
function explain(issue: z.core.$ZodIssue, root: SchemaNode, input: unknown): ApiError[] {
  const path = pathOf(issue.path, root);
  const given = issue.path.reduce<unknown>(
    (value, key) => (value as Record<PropertyKey, unknown> | undefined)?.[key],
    input,
  );
  const one = (message: string): ApiError[] => [{ path, message }];
  switch (issue.code) {
    case "unrecognized_keys":
      return issue.keys.map((key) => {
        const field = joinPath(path, key);
        return { path: field, message: `unknown field "${field}"${suggestField(root, issue.path, key)}` };
      });
    case "invalid_type":
      if (given === undefined || given === null) return one("Required value");
      return one(`must be of type ${nodeAt(root, issue.path)?.type ?? issue.expected}: "${typeOf(given)}"`);
    case "invalid_union":
      return one(
        given === undefined ? "Required value" : `must be an integer or a string: "${typeOf(given)}"`,
      );
    case "invalid_value": {
      if (given === undefined) return one("Required value");
      const supported = issue.values.map((value) => JSON.stringify(value));
      return one(`Unsupported value: ${JSON.stringify(given)}: supported values: ${supported.join(", ")}`);
    }
    case "too_small":
      if (issue.origin === "string") return one(`should be at least ${issue.minimum} chars long`);
      if (issue.origin === "array") return one(`should have at least ${issue.minimum} items`);
      return one(`should be greater than or equal to ${issue.minimum}`);
    case "too_big":
      if (issue.origin === "string") return one(`Too long: may not be more than ${issue.maximum} bytes`);
      if (issue.origin === "array")
        return one(`Too many: ${(given as unknown[]).length}: must have at most ${issue.maximum} items`);
      return one(`should be less than or equal to ${issue.maximum}`);
    default:
      return one(issue.message);
  }
}

/** Walks value and schema together, and the former value beside them as far as it goes. */
function checkRules(
  tree: ResourceSchema,
  node: SchemaNode,
  value: unknown,
  old: unknown,
  path: string,
): ApiError[] {
  if (value === undefined) return [];
  const errors: ApiError[] = [];
  for (const validation of node["x-kubernetes-validations"] ?? []) {
    const rule = tree.rules.get(validation.rule);
    if (rule) errors.push(...checkRule(rule, value, old, path));
  }
  if (Array.isArray(value) && node.items) {
    // As on the API server, items of a list are not compared with former items.
    for (const [index, item] of value.entries())
      errors.push(...checkRules(tree, node.items, item, undefined, `${path}[${index}]`));
    return errors;
  }
  if (!isRecord(value)) return errors;
  const former = isRecord(old) ? old : {};
  for (const [name, child] of Object.entries(value)) {
    const property = node.properties?.[name];
    if (property) errors.push(...checkRules(tree, property, child, former[name], joinPath(path, name)));
    else if (node.additionalProperties) {
      errors.push(...checkRules(tree, node.additionalProperties, child, former[name], `${path}[${name}]`));
    }
  }
  if (node.maxProperties !== undefined && Object.keys(value).length > node.maxProperties) {
    const many = Object.keys(value).length;
    errors.push({ path, message: `Too many: ${many}: must have at most ${node.maxProperties} items` });
  }
  return errors;
}

function checkRule(rule: Rule, value: unknown, old: unknown, path: string): ApiError[] {
  if (rule.transition && old === undefined) return [];
  if (rule.check(value, old)) return [];
  const field = rule.fieldPath === undefined ? path : `${path}${rule.fieldPath}`.replace(/^\./, "");
  return [{ path: field, message: rule.messageFor?.(value) ?? rule.message }];
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function typeOf(value: unknown): string {
  if (value === null) return "null";
  if (Array.isArray(value)) return "array";
  if (typeof value === "number") return Number.isInteger(value) ? "integer" : "number";
  return typeof value;
}
