/**
 * The shape of a kind as far as merging and ownership of fields need it: which maps are open, which lists have
 * keys, what is replaced as a whole. Built-in kinds list what matters here; resources of our own derive it from
 * their definition.
 */
import type { SchemaNode } from "../../../src/api/json-schema.ts";
import { isJson, type Json } from "./object.ts";

export type Schema =
  /** A scalar, or what is replaced as a whole. `omitted`: its zero value counts as absent; `pointer`: empty is not. */
  | { readonly type: "leaf"; readonly omitted: boolean; readonly pointer?: boolean }
  /** Keys of the user's choosing. */
  | { readonly type: "map"; readonly of: Schema }
  /** Named fields; `always` is there even when nobody wrote it; other fields are of type `rest` or are dropped. */
  | {
      readonly type: "struct";
      readonly fields: Readonly<Record<string, Schema>>;
      readonly always: boolean;
      readonly rest: Schema | undefined;
    }
  /** Items told apart by some of their fields. */
  | {
      readonly type: "list";
      readonly keys: readonly string[];
      readonly of: Schema;
      readonly defaults: Json;
    }
  /** Scalars, each once. */
  | { readonly type: "set" }
  /** Whatever comes: lists are replaced as a whole; `named`: maps are structs that nobody has written down here. */
  | { readonly type: "any"; readonly named: boolean };

export const leaf: Schema = { type: "leaf", omitted: false };
/** A field that is not written when it is empty, zero or false. */
export const plain: Schema = { type: "leaf", omitted: true };
/** Replaced as a whole, and there also when it is empty. */
export const pointer: Schema = { type: "leaf", omitted: false, pointer: true };
export const set: Schema = { type: "set" };
export const any: Schema = { type: "any", named: false };
/** The same within the server's own types, where a map of unknown fields is a struct. */
export const structs: Schema = { type: "any", named: true };

export function map(of: Schema = leaf): Schema {
  return { type: "map", of };
}

type Fields = Readonly<Record<string, Schema>>;

/** Without `rest` fields that are not listed are dropped. */
export function struct(fields: Fields, rest: Schema | "none" = structs): Schema {
  return { type: "struct", fields, always: false, rest: rest === "none" ? undefined : rest };
}

/** A struct that its parent always has. */
export function part(fields: Fields, rest: Schema = structs): Schema {
  return { type: "struct", fields, always: true, rest };
}

export function list(keys: readonly string[], of: Schema = structs, defaults: Json = {}): Schema {
  return { type: "list", keys, of, defaults };
}

export const metadataSchema: Schema = part(
  {
    labels: map(),
    annotations: map(),
    finalizers: set,
    ownerReferences: list(["uid"], leaf),
  },
  leaf,
);

/** The type of a field, of a map or of whatever it is. */
export function under(schema: Schema, name: string): Schema {
  switch (schema.type) {
    case "struct":
      return schema.fields[name] ?? schema.rest ?? leaf;
    case "map":
    case "list":
      return schema.of;
    case "any":
      return schema;
    default:
      return leaf;
  }
}

/** Whether a field is one of a struct, not a key that somebody chose. */
export function isNamed(schema: Schema, name: string): boolean {
  if (schema.type !== "struct") return false;
  return name in schema.fields || schema.rest?.type !== "any" || schema.rest.named;
}

/** What `any` turns out to be when it is seen. */
export function resolved(schema: Schema, value: unknown): Schema {
  if (schema.type !== "any") return schema;
  if (!isJson(value)) return leaf;
  return schema.named ? STRUCT : OPEN;
}

const OPEN: Schema = { type: "map", of: any };
const STRUCT: Schema = { type: "struct", fields: {}, always: false, rest: structs };

/** `k:{"name":"etcd"}`: the place of an item in a field set. */
export function itemKey(schema: Schema & { type: "list" }, item: unknown): string {
  const given = isJson(item) ? item : {};
  const key: Record<string, unknown> = {};
  for (const name of schema.keys.toSorted()) {
    const value = given[name] ?? schema.defaults[name];
    if (value !== undefined) key[name] = value;
  }
  return `k:${JSON.stringify(key)}`;
}

export function valueKey(value: unknown): string {
  return `v:${JSON.stringify(value)}`;
}

/** From a resource definition's schema. */
export function schemaOf(node: SchemaNode): Schema {
  if (node["x-kubernetes-int-or-string"]) return leaf;
  if (node.type === "array") {
    const kind = node["x-kubernetes-list-type"];
    if (kind === "set") return set;
    if (kind === "map" && node.items)
      return list(node["x-kubernetes-list-map-keys"] ?? [], schemaOf(node.items));
    return leaf;
  }
  if (node.type !== "object") return leaf;
  if ((node as { "x-kubernetes-map-type"?: string })["x-kubernetes-map-type"] === "atomic") return leaf;
  const rest = node["x-kubernetes-preserve-unknown-fields"]
    ? any
    : node.additionalProperties && schemaOf(node.additionalProperties);
  if (!node.properties) return rest === undefined ? struct({}, "none") : map(rest);
  const fields = Object.entries(node.properties).map(([name, child]) => [name, schemaOf(child)] as const);
  return struct(Object.fromEntries(fields), rest ?? "none");
}
