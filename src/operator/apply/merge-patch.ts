/**
 * The smallest merge patch (RFC 7386) from one object to another: what is gone becomes null, which a plain patch
 * with the new object would leave in place. Lists are replaced as a whole.
 */
import { sameContent } from "../../core/template/hash.ts";

type Fields = Readonly<Record<string, unknown>>;

/** Undefined when there is no difference. */
export function mergePatch(before: Fields, after: Fields): Record<string, unknown> | undefined {
  const patch: Record<string, unknown> = {};
  for (const key of Object.keys(before))
    if (after[key] === undefined && before[key] !== undefined) patch[key] = null;
  for (const [key, value] of Object.entries(after)) {
    if (value === undefined) continue;
    const old = before[key];
    if (isFields(old) && isFields(value)) {
      const inner = mergePatch(old, value);
      if (inner) patch[key] = inner;
    } else if (!sameContent(old, value)) patch[key] = value;
  }
  return Object.keys(patch).length === 0 ? undefined : patch;
}

function isFields(value: unknown): value is Fields {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
