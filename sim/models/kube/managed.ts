/**
 * Who set which field (metadata.managedFields). A write by POST, PUT or patch takes the fields it changes from
 * their managers; an apply states all it wants, lets go of what it wanted before, and is refused where another
 * manager holds a field to another value.
 */
import {
  difference,
  equal,
  fromFieldsV1,
  intersection,
  isEmpty,
  paths,
  toFieldsV1,
  union,
  withNamedFields,
  withoutRoot,
  type FieldSet,
} from "./field-set.ts";
import { items, json, same, type Json } from "./object.ts";
import type { Schema } from "./schema.ts";
import { compare, fieldsOf, merged, without } from "./typed.ts";

export interface Manager {
  readonly manager: string;
  readonly operation: "Apply" | "Update";
  readonly apiVersion: string;
  readonly subresource: string;
}

interface Entry extends Manager {
  readonly time: string;
  readonly fields: FieldSet;
}

export type Managers = ReadonlyMap<string, Entry>;
export const NOBODY: Managers = new Map();

/** Two writes are by the same manager when all of this is the same; an applier also across versions. */
function idOf({ manager, operation, apiVersion, subresource }: Manager): string {
  return [operation, manager, subresource, operation === "Apply" ? "" : apiVersion].join("\0");
}

/** What others hold of the fields that changed. */
export interface Held {
  readonly by: Manager;
  readonly fields: readonly string[];
}

interface Taken {
  readonly managers: Map<string, Entry>;
  readonly held: readonly Held[];
}

/** Takes what changed from everybody but `own`. */
function take(
  schema: Schema,
  before: unknown,
  after: unknown,
  managers: Managers,
  own: string | undefined,
): Taken {
  const { added, modified, removed } = compare(schema, before, after);
  const changed = union(modified, added);
  const left = new Map<string, Entry>();
  const held: Held[] = [];
  for (const [id, entry] of managers) {
    if (id === own) {
      left.set(id, entry);
      continue;
    }
    const lost = intersection(entry.fields, changed);
    if (!isEmpty(lost)) held.push({ by: entry, fields: paths(lost) });
    const fields = difference(difference(entry.fields, lost), removed);
    if (!isEmpty(fields)) left.set(id, { ...entry, fields });
  }
  return { managers: left, held };
}

/** After a change by POST, PUT or patch. An object that has no managers stays without until its first apply. */
export function afterUpdate(
  schema: Schema,
  managers: Managers,
  before: unknown,
  after: unknown,
  by: Manager,
  time: string,
): Managers {
  return managers.size === 0 ? managers : afterWrite(schema, managers, before, after, by, time);
}

/** After a write of a whole object. `before` and `after` are what of it has owners. */
export function afterWrite(
  schema: Schema,
  managers: Managers,
  before: unknown,
  after: unknown,
  by: Manager,
  time: string,
): Managers {
  const { added, modified } = compare(schema, before, after);
  const left = take(schema, before, after, managers, undefined).managers;
  const taken = withoutRoot(union(modified, added));
  const id = idOf(by);
  if (!isEmpty(taken)) {
    const known = left.get(id);
    left.set(id, { ...by, time, fields: known === undefined ? taken : union(taken, known.fields) });
  }
  return left;
}

export interface Applied {
  readonly object: unknown;
  readonly managers: Managers;
  readonly held: readonly Held[];
}

export function afterApply(
  schema: Schema,
  managers: Managers,
  live: unknown,
  wanted: unknown,
  by: Manager,
  time: string,
): Applied {
  const id = idOf(by);
  const last = managers.get(id)?.fields;
  const known = new Map(managers);
  known.set(id, { ...by, time, fields: withoutRoot(fieldsOf(schema, wanted)) });
  const whole = merged(schema, live, wanted);
  const object = last === undefined ? whole : pruned(schema, whole, known, last);
  const { managers: left, held } = take(schema, live, object, known, id);
  const entry = left.get(id);
  if (entry !== undefined && isEmpty(entry.fields)) left.delete(id);
  return { object, managers: left, held };
}

const METADATA: FieldSet = fromFieldsV1({ "f:metadata": {} });

/** Takes out what was applied before and is not now, unless it is somebody else's too. */
function pruned(schema: Schema, whole: unknown, managers: Managers, last: FieldSet): unknown {
  const named = (fields: FieldSet) => withNamedFields(fields, schema);
  const first = without(schema, whole, named(last));
  // Its name is in every apply, so that metadata as a whole is never let go of.
  let owned: FieldSet = METADATA;
  for (const { fields } of managers.values()) owned = union(owned, fields);
  const wholeFields = named(fieldsOf(schema, whole));
  const firstFields = named(fieldsOf(schema, first ?? {}));
  const dropped = difference(difference(wholeFields, firstFields), named(owned));
  const second = without(schema, whole, dropped);
  const secondFields = named(fieldsOf(schema, second ?? {}));
  return without(schema, whole, intersection(difference(wholeFields, secondFields), named(last))) ?? {};
}

/** Whether anybody has set this field. */
export function isManaged(managers: Managers, path: readonly string[]): boolean {
  return [...managers.values()].some(({ fields }) => {
    const at = path.reduce<FieldSet | undefined>((set, name) => set?.children.get(name), fields);
    return at !== undefined;
  });
}

/** Without this field for anybody. */
export function notManaging(managers: Managers, path: readonly string[]): Managers {
  const taken = path.toReversed().reduce<Json>((under, name) => ({ [name]: under }), {});
  const left = new Map<string, Entry>();
  for (const [id, entry] of managers) {
    const fields = difference(entry.fields, fromFieldsV1(taken));
    if (!isEmpty(fields)) left.set(id, { ...entry, fields });
  }
  return left;
}

/** Whether nothing but times differs. */
export function sameManagers(a: Managers, b: Managers): boolean {
  if (a === b) return true;
  if (a.size !== b.size) return false;
  for (const [id, entry] of a) {
    const other = b.get(id);
    if (other === undefined || other.apiVersion !== entry.apiVersion || !equal(entry.fields, other.fields))
      return false;
  }
  return true;
}

export function toManagedFields(managers: Managers): readonly Json[] {
  return [...managers.values()]
    .toSorted((a, b) => order(a, b))
    .map(({ manager, operation, apiVersion, time, fields, subresource }) => ({
      manager,
      operation,
      apiVersion,
      time,
      fieldsType: "FieldsV1",
      fieldsV1: toFieldsV1(fields),
      ...(subresource !== "" && { subresource }),
    }));
}

function order(a: Entry, b: Entry): number {
  if (a.operation !== b.operation) return a.operation < b.operation ? -1 : 1;
  if (a.time !== b.time) return a.time < b.time ? -1 : 1;
  return a.manager < b.manager ? -1 : 1;
}

/** As a client gave them back; undefined when it did not. */
export function fromManagedFields(given: unknown): Managers | undefined {
  const entries = items(given);
  if (entries.length === 0) return undefined;
  const managers = new Map<string, Entry>();
  for (const one of entries) {
    const entry: Entry = {
      manager: String(one["manager"] ?? ""),
      operation: one["operation"] === "Apply" ? "Apply" : "Update",
      apiVersion: String(one["apiVersion"] ?? ""),
      subresource: String(one["subresource"] ?? ""),
      time: String(one["time"] ?? ""),
      fields: fromFieldsV1(one["fieldsV1"]),
    };
    // One empty entry is how a client says: forget them all.
    if (!same(json(one), {})) managers.set(idOf(entry), entry);
  }
  return managers;
}
