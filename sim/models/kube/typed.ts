/**
 * Values with a schema: which fields one has, what differs between two, one merged into another, and fields
 * taken out. The four operations that ownership of fields is made of.
 */
import { EMPTY, Gathering, isEmpty, MEMBER, type FieldSet } from "./field-set.ts";
import { isJson, same, type Json } from "./object.ts";
import { isNamed, itemKey, resolved, under, valueKey, type Schema } from "./schema.ts";

/** The parts of a map, a struct or a list with keys, under the names that field sets have for them. */
function partsOf(schema: Schema, value: unknown): Map<string, { value: unknown; schema: Schema }> {
  const parts = new Map<string, { value: unknown; schema: Schema }>();
  if (schema.type === "list") {
    for (const item of Array.isArray(value) ? (value as unknown[]) : [])
      parts.set(itemKey(schema, item), { value: item, schema: schema.of });
  } else if (schema.type === "set") {
    for (const item of Array.isArray(value) ? (value as unknown[]) : [])
      parts.set(valueKey(item), { value: item, schema: LEAF });
  } else if (isJson(value)) {
    for (const name in value)
      if (value[name] !== undefined)
        parts.set(`f:${name}`, { value: value[name], schema: under(schema, name) });
  }
  return parts;
}

const LEAF: Schema = { type: "leaf", omitted: false };

function isVoid(value: unknown): boolean {
  if (value === undefined || value === null) return true;
  return Array.isArray(value) ? value.length === 0 : isJson(value) && Object.keys(value).length === 0;
}

/** Every field that a value has. */
export function fieldsOf(given: Schema, value: unknown): FieldSet {
  const schema = resolved(given, value);
  if (schema.type === "leaf") return MEMBER;
  const fields = new Gathering();
  const isList = schema.type === "list" || schema.type === "set";
  for (const [name, part] of partsOf(schema, value)) {
    fields.put(name, fieldsOf(part.schema, part.value));
    const empty = part.value === null || (isJson(part.value) && Object.keys(part.value).length === 0);
    if (isList || empty || !isNamed(schema, name.slice(2))) fields.put(name, MEMBER);
  }
  return fields.done();
}

export interface Comparison {
  readonly added: FieldSet;
  readonly modified: FieldSet;
  readonly removed: FieldSet;
}

const NOTHING: Comparison = { added: EMPTY, modified: EMPTY, removed: EMPTY };

export function compare(given: Schema, before: unknown, after: unknown): Comparison {
  if (before === after || (before === undefined && after === undefined)) return NOTHING;
  const schema = resolved(given, before ?? after);
  if (schema.type === "leaf" || (isVoid(before) && isVoid(after))) {
    if (before === undefined) return { ...NOTHING, added: MEMBER };
    if (after === undefined) return { ...NOTHING, removed: MEMBER };
    return same(before, after) ? NOTHING : { ...NOTHING, modified: MEMBER };
  }
  const [added, modified, removed] = [new Gathering(), new Gathering(), new Gathering()];
  added.member = before === undefined;
  removed.member = after === undefined;
  const [left, right] = [partsOf(schema, before), partsOf(schema, after)];
  for (const name of new Set([...left.keys(), ...right.keys()])) {
    const [a, b] = [left.get(name), right.get(name)];
    const deeper = compare((a ?? b)?.schema ?? LEAF, a?.value, b?.value);
    added.put(name, deeper.added);
    modified.put(name, deeper.modified);
    removed.put(name, deeper.removed);
  }
  return { added: added.done(), modified: modified.done(), removed: removed.done() };
}

/** `over` laid over `base`: what `over` does not name stays. */
export function merged(given: Schema, base: unknown, over: unknown): unknown {
  if (over === undefined) return base;
  if (base === undefined) return over;
  const schema = resolved(given, over);
  if (schema.type === "leaf") return over;
  if (schema.type === "list" || schema.type === "set") return mergedList(schema, base, over);
  if (!isJson(base) || !isJson(over)) return over;
  const out: Record<string, unknown> = { ...base };
  for (const name in over) out[name] = merged(under(schema, name), base[name], over[name]);
  return out;
}

/** The order of `over` where both have an item; what only `base` has stays where it was among those. */
function mergedList(schema: Schema, base: unknown, over: unknown): unknown {
  const [left, right] = [partsOf(schema, base), partsOf(schema, over)];
  const [leftKeys, rightKeys] = [[...left.keys()], [...right.keys()]];
  const shared = rightKeys.filter((key) => left.has(key));
  let next = shared.shift();
  const done = new Set<string>();
  const out: unknown[] = [];
  const take = (key: string) => {
    const [a, b] = [left.get(key), right.get(key)];
    out.push(merged((a ?? b)?.schema ?? LEAF, a?.value, b?.value));
    done.add(key);
  };
  for (let l = 0, r = 0; l < leftKeys.length || r < rightKeys.length;) {
    const [lKey, rKey] = [leftKeys[l], rightKeys[r]];
    if (lKey !== undefined && lKey === rKey) {
      take(lKey);
      l++;
      r++;
      next = shared.shift();
      continue;
    }
    if (lKey !== undefined && rKey !== undefined && right.has(lKey) && next !== undefined && next !== lKey) {
      l++;
      continue;
    }
    if (lKey !== undefined) {
      if (!right.has(lKey)) {
        take(lKey);
        l++;
        continue;
      }
      if (done.has(lKey)) l++;
    }
    if (rKey !== undefined) {
      take(rKey);
      r++;
      if (next === rKey) next = shared.shift();
    }
  }
  return out;
}

/** The value without these fields; undefined (or null for emptied maps) where nothing is left. */
export function without(given: Schema, value: unknown, fields: FieldSet): unknown {
  const schema = resolved(given, value);
  if (schema.type === "leaf") return typeof value === "object" ? null : value;
  if (schema.type === "list" || schema.type === "set") {
    const kept: unknown[] = [];
    for (const [name, part] of partsOf(schema, value)) {
      const taken = fields.children.get(name) ?? EMPTY;
      if (taken.member) continue;
      kept.push(isEmpty(taken) ? part.value : without(part.schema, part.value, taken));
    }
    return kept.length > 0 ? kept : null;
  }
  if (!isJson(value)) return null;
  const kept: Record<string, unknown> = {};
  for (const name in value) {
    const taken = fields.children.get(`f:${name}`) ?? EMPTY;
    if (taken.member) continue;
    kept[name] = isEmpty(taken) ? value[name] : without(under(schema, name), value[name], taken);
  }
  return Object.keys(kept).length > 0 ? (kept as Json) : null;
}
