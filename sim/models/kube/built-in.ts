/**
 * How the server's own types read JSON: null and empty fields count as absent, structs that are values are always
 * there, quantities are written in one way.
 */
import { isJson, type Json } from "./object.ts";
import { under, type Schema } from "./schema.ts";

/** The value as a typed server keeps it; undefined when nothing is left. */
export function normalised(schema: Schema, value: unknown): unknown {
  if (value === null || value === undefined) return undefined;
  switch (schema.type) {
    case "leaf":
      if (schema.omitted && (value === "" || value === 0 || value === false)) return undefined;
      return isEmptied(value) && !schema.pointer ? undefined : value;
    case "any":
      return Array.isArray(value) && value.length === 0 ? undefined : value;
    case "set":
      return isEmptied(value) ? undefined : value;
    case "map":
      if (!isJson(value)) return value;
      return isEmptied(value) ? undefined : mapped(value, (name) => normalised(schema.of, value[name]));
    case "list":
      if (!Array.isArray(value) || value.length === 0) return undefined;
      return value.map((item: unknown) => normalised(schema.of, item) ?? {});
    case "struct":
      return isJson(value) ? normalisedStruct(schema, value) : value;
  }
}

/** What every object says of itself. */
const TYPE = new Set(["apiVersion", "kind"]);

function normalisedStruct(schema: Schema & { type: "struct" }, value: Json): Json {
  const known = (name: string) => schema.rest !== undefined || name in schema.fields || TYPE.has(name);
  const out = mapped(value, (name) =>
    known(name) ? normalised(under(schema, name), value[name]) : undefined,
  );
  for (const [name, field] of Object.entries(schema.fields))
    if (field.type === "struct" && field.always && out[name] === undefined)
      out[name] = normalisedStruct(field, {});
  return out;
}

function mapped(value: Json, change: (name: string) => unknown): Record<string, unknown> {
  const out: Record<string, unknown> = {};
  for (const name in value) {
    const after = change(name);
    if (after !== undefined) out[name] = after;
  }
  return out;
}

function isEmptied(value: unknown): boolean {
  return Array.isArray(value) ? value.length === 0 : isJson(value) && Object.keys(value).length === 0;
}

const BINARY = ["", "Ki", "Mi", "Gi", "Ti", "Pi"];
const QUANTITY = /^([0-9]+)(Ki|Mi|Gi|Ti|Pi)?$/;

/** `1024Mi` is kept as `1Gi`; what is written in other ways is kept as it is. */
export function quantity(value: unknown): unknown {
  const [, digits, suffix = ""] = QUANTITY.exec(String(value)) ?? [];
  if (digits === undefined) return value;
  if (suffix === "") return digits;
  let [number, power] = [Number(digits), BINARY.indexOf(suffix)];
  while (number > 0 && number % 1024 === 0 && power < BINARY.length - 1) {
    number /= 1024;
    power++;
  }
  return `${number}${BINARY[power]}`;
}
