/**
 * Sets of fields, as managedFields keep them: a tree of field names, keys and values, where a node may itself be
 * a member. The tree of `fieldsV1`, with "." made explicit.
 */
import { isJson, type Json } from "./object.ts";
import { isNamed, resolved, under, type Schema } from "./schema.ts";

export interface FieldSet {
  /** The field that the node stands for is in the set. */
  readonly member: boolean;
  readonly children: ReadonlyMap<string, FieldSet>;
}

const NONE: ReadonlyMap<string, FieldSet> = new Map();
export const EMPTY: FieldSet = { member: false, children: NONE };
export const MEMBER: FieldSet = { member: true, children: NONE };

export function isEmpty(fields: FieldSet): boolean {
  return !fields.member && fields.children.size === 0;
}

function node(member: boolean, children: ReadonlyMap<string, FieldSet>): FieldSet {
  if (children.size === 0) return member ? MEMBER : EMPTY;
  return { member, children };
}

/** Gathers a set while a value is walked. */
export class Gathering {
  member = false;
  readonly #children = new Map<string, FieldSet>();

  put(name: string, under: FieldSet): void {
    if (isEmpty(under)) return;
    const known = this.#children.get(name);
    this.#children.set(name, known === undefined ? under : union(known, under));
  }

  done(): FieldSet {
    return node(this.member, this.#children);
  }
}

export function union(a: FieldSet, b: FieldSet): FieldSet {
  if (a === b || isEmpty(b)) return a;
  if (isEmpty(a)) return b;
  const children = new Map(a.children);
  for (const [name, under] of b.children) {
    const known = children.get(name);
    children.set(name, known === undefined ? under : union(known, under));
  }
  return node(a.member || b.member, children);
}

/** Member by member: a child outlives its parent's removal. */
export function difference(a: FieldSet, b: FieldSet): FieldSet {
  if (isEmpty(a) || isEmpty(b)) return a;
  const children = new Map<string, FieldSet>();
  for (const [name, under] of a.children) {
    const other = b.children.get(name);
    const left = other === undefined ? under : difference(under, other);
    if (!isEmpty(left)) children.set(name, left);
  }
  return node(a.member && !b.member, children);
}

export function intersection(a: FieldSet, b: FieldSet): FieldSet {
  if (isEmpty(a) || isEmpty(b)) return EMPTY;
  const children = new Map<string, FieldSet>();
  for (const [name, under] of a.children) {
    const other = b.children.get(name);
    const shared = other === undefined ? EMPTY : intersection(under, other);
    if (!isEmpty(shared)) children.set(name, shared);
  }
  return node(a.member && b.member, children);
}

export function equal(a: FieldSet, b: FieldSet): boolean {
  if (a === b) return true;
  if (a.member !== b.member || a.children.size !== b.children.size) return false;
  for (const [name, under] of a.children) {
    const other = b.children.get(name);
    if (other === undefined || !equal(under, other)) return false;
  }
  return true;
}

/** With named fields of structs as members, which only their contents are by themselves. */
export function withNamedFields(fields: FieldSet, given: Schema): FieldSet {
  const schema = resolved(given, {});
  const children = new Map<string, FieldSet>();
  for (const [name, below] of fields.children) {
    const field = name.slice(2);
    const deeper = withNamedFields(below, under(schema, field));
    const named = name.startsWith("f:") && isNamed(schema, field);
    children.set(name, named ? node(true, deeper.children) : deeper);
  }
  return node(fields.member, children);
}

/** `.spec.ports[port=80,protocol="TCP"].name` of each member. */
export function paths(fields: FieldSet, prefix = ""): string[] {
  const own = fields.member && prefix !== "" ? [prefix] : [];
  return [...own, ...[...fields.children].flatMap(([name, below]) => paths(below, prefix + step(name)))];
}

function step(name: string): string {
  const rest = name.slice(2);
  if (name.startsWith("f:")) return `.${rest}`;
  if (name.startsWith("v:")) return `[=${rest}]`;
  const key = Object.entries(JSON.parse(rest) as Json);
  return `[${key.map(([field, value]) => `${field}=${JSON.stringify(value)}`).join(",")}]`;
}

/** Without metadata itself, which is never anybody's; what is in it may be. */
export function withoutRoot(fields: FieldSet): FieldSet {
  const metadata = fields.children.get(METADATA);
  if (!metadata?.member) return fields;
  const children = new Map(fields.children);
  if (metadata.children.size === 0) children.delete(METADATA);
  else children.set(METADATA, node(false, metadata.children));
  return node(fields.member, children);
}

const METADATA = "f:metadata";

export function toFieldsV1(fields: FieldSet): Json {
  const out: Record<string, unknown> = {};
  if (fields.member && fields.children.size > 0) out["."] = {};
  for (const name of [...fields.children.keys()].toSorted())
    out[name] = toFieldsV1(fields.children.get(name) ?? EMPTY);
  return out;
}

/** A whole `fieldsV1`: its root is nobody's field. */
export function fromFieldsV1(tree: unknown): FieldSet {
  return node(false, branches(tree));
}

function branches(tree: unknown): ReadonlyMap<string, FieldSet> {
  const children = new Map<string, FieldSet>();
  for (const [name, below] of Object.entries(isJson(tree) ? tree : {})) {
    if (name === ".") continue;
    const deeper = branches(below);
    const leaf = deeper.size === 0;
    children.set(name, node(leaf || (isJson(below) && "." in below), deeper));
  }
  return children;
}
