/**
 * From what a person wrote to a valid object with all defaults, or to the list of what is wrong with it. Used where no
 * API server stands in between.
 */
import type { z } from "zod";
import { API_VERSION } from "./metadata.ts";
import { validator, type ApiError, type Validated } from "./validate.ts";

/** As JSON. Of a cluster, every pass compares the spec with each member's record, which repeats most of it. */
const LARGEST_SPEC = 256 * 1024;

/** A given status is dropped: like the API server, nobody believes what a manifest says about it. */
export function resourceParser<S extends z.ZodType>(kind: string, schema: S) {
  const objects = validator(schema);
  return (input: unknown, old?: z.output<S>): Validated<z.output<S>> => {
    if (typeof input !== "object" || input === null || Array.isArray(input)) {
      const message = `expected an ${kind}: a map with apiVersion, kind, metadata and spec`;
      return { ok: false, errors: [{ path: "", message }] };
    }
    const { status: _, ...document } = input as Record<string, unknown>;
    const first = [...checkKind(kind, document), ...checkSize(document)];
    return first.length > 0 ? { ok: false, errors: first } : objects.validate(document, old);
  };
}

/** Of another kind nothing else can be right: one error instead of a page of them. */
function checkKind(wanted: string, { apiVersion, kind }: Record<string, unknown>): ApiError[] {
  const errors: ApiError[] = [];
  if (apiVersion !== API_VERSION)
    errors.push({ path: "apiVersion", message: `${got(apiVersion)}: write apiVersion: ${API_VERSION}` });
  if (kind !== wanted) errors.push({ path: "kind", message: `${got(kind)}: write kind: ${wanted}` });
  return errors;
}

/** Before anything else looks at it: rules of validation may go through a list for each item of another. */
function checkSize({ spec }: Record<string, unknown>): ApiError[] {
  const size = JSON.stringify(spec ?? null).length;
  if (size <= LARGEST_SPEC) return [];
  const message = `Too long: ${Math.ceil(size / 1024)} KiB as JSON, may not be more than ${LARGEST_SPEC / 1024} KiB: move large values into a ConfigMap and refer to it`;
  return [{ path: "spec", message }];
}

const got = (value: unknown): string =>
  value === undefined ? "Required value" : `Unsupported value: ${JSON.stringify(value)}`;
