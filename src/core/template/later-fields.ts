/**
 * Fields that came into the template of members after members existed. A record from before has none of them, and its
 * member runs as if they were not there; so a new operator's default alone must make nobody another one than it is, or
 * its first act would be to restart every cluster that there is.
 */
import type { MemberTemplate } from "../record.ts";

export interface LaterField {
  /** From the template's root: `pod.hostUsers`. */
  readonly path: string;
  /** The value with which a member runs just as it does without the field. */
  readonly absent: unknown;
}

/** A field that is added to image, options, storage, tls or pod, and has a default, is named here (template.test.ts). */
export const LATER_FIELDS: readonly LaterField[] = [
  { path: "storage.accessModes", absent: ["ReadWriteOnce"] },
];

type Fields = Readonly<Record<string, unknown>>;

/** The template without those later fields that ask for nothing, as it would have been before there were any. */
export function asBefore<T extends Partial<MemberTemplate>>(
  template: T,
  later: readonly LaterField[] = LATER_FIELDS,
): T {
  return later.reduce<Fields>(
    (fields, { path, absent }) => without(fields, path.split("."), absent),
    template as Fields,
  ) as T;
}

function without(fields: Fields, [name = "", ...deeper]: readonly string[], absent: unknown): Fields {
  const value = fields[name];
  if (deeper.length === 0) {
    if (JSON.stringify(value) !== JSON.stringify(absent)) return fields;
    const { [name]: _nothing, ...rest } = fields;
    return rest;
  }
  if (typeof value !== "object" || value === null) return fields;
  return { ...fields, [name]: without(value as Fields, deeper, absent) };
}
