/**
 * What is taken off an object on its way in, and its freezing. managedFields are about half of most objects and
 * of no use here; a cached object changed in place would be a lie to everybody else who reads it. Its texts are those
 * of the objects before it, where they are equal.
 */
import type { KubeObject } from "./resources.ts";
import { SharedTexts } from "./shared-texts.ts";

/** Of all caches of a process: an owner has a UID in one, and what it owns names that in others. */
const texts = new SharedTexts();

/** The object without `metadata.managedFields`; the given one is left as it is. */
export function stripped<T extends KubeObject>(object: T): T {
  const metadata = object.metadata as ({ managedFields?: unknown } & object) | undefined;
  if (metadata?.managedFields === undefined) return object;
  const { managedFields: _, ...rest } = metadata;
  return { ...object, metadata: rest };
}

export function deepFrozen<T>(value: T): T {
  if (typeof value !== "object" || value === null || Object.isFrozen(value)) return value;
  const fields = value as Record<string, unknown>;
  for (const [name, part] of Object.entries(fields))
    if (typeof part === "string") fields[name] = texts.of(part);
    else deepFrozen(part);
  return Object.freeze(value);
}
