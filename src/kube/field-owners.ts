/** Which fields of an object are not as wanted, and who set them last, by the server's own book (`managedFields`). */

export interface ManagedFields {
  readonly manager?: string;
  readonly fieldsV1?: Readonly<Record<string, unknown>>;
}

export type FieldPath = readonly string[];

/** The fields of `want` that `have` has otherwise or lacks; lists count as one field. */
export function differencesOf(have: unknown, want: unknown, path: FieldPath = []): FieldPath[] {
  if (want === undefined) return [];
  if (!isFields(want)) return JSON.stringify(have) === JSON.stringify(want) ? [] : [path];
  const fields: Readonly<Record<string, unknown>> = isFields(have) ? have : {};
  return Object.entries(want).flatMap(([name, value]) => differencesOf(fields[name], value, [...path, name]));
}

/** Those who own this field, or the list that it is in. */
export function managersOf(managed: readonly ManagedFields[], path: FieldPath): string[] {
  const owners = managed.filter(({ fieldsV1 }) => {
    let at: unknown = fieldsV1;
    for (const name of path) {
      if (!isFields(at) || !(`f:${name}` in at)) return false;
      at = at[`f:${name}`];
    }
    return path.length > 0;
  });
  return [...new Set(owners.flatMap(({ manager }) => manager ?? []))];
}

/** `metadata.labels[app.kubernetes.io/name]`. */
export function pathText(path: FieldPath): string {
  if (path.length === 0) return "it";
  return path.reduce((text, name) => {
    if (/^\w+$/.test(name)) return text === "" ? name : `${text}.${name}`;
    return `${text}[${name}]`;
  }, "");
}

function isFields(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
