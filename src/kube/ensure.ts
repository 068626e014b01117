/**
 * An object that has to exist as rendered. Protects objects of others (an object of our name that is not ours is reported
 * and left alone), the dead (one that is on its way out is not written into) and the API server (what is there
 * as wanted already costs no call).
 */
import { createHash } from "node:crypto";
import type { CallOptions, KubeClient } from "./client.ts";
import { isReason } from "./errors.ts";
import { ownByApply } from "./ownership.ts";
import type { KubeObject, Ref, Resource } from "./resources.ts";

export type Ensured<T> =
  | { readonly done: "created" | "applied" | "unchanged"; readonly object: T }
  /** It has our name and is not ours: nothing was changed. */
  | { readonly done: "foreign"; readonly object: T }
  /** It is being deleted: wait for its end, then make it anew. */
  | { readonly done: "ending"; readonly object: T };

export interface EnsureWishes<T extends KubeObject> {
  /** As rendered, with name and (where there are any) namespace. */
  readonly wanted: T;
  /** As cached; undefined when the cache has none. */
  readonly known: T | undefined;
  /** What only a new one is made with: fields of which what they are does not matter once it is there. */
  readonly asNew?: ((wanted: T) => T) | undefined;
  readonly isOurs: (object: T) => boolean;
  /** The annotation that keeps the hash of what was applied last: by it we see what is not wanted any more. */
  readonly stamp: string;
  /** Calls `write`, which writes to one that exists; or throws when that must wait. */
  readonly rewrite?: (known: T, wanted: T, write: () => Promise<T>) => Promise<T>;
}

export async function ensure<T extends KubeObject>(
  client: KubeClient,
  resource: Resource<T>,
  wishes: EnsureWishes<T>,
  options?: CallOptions,
): Promise<Ensured<T>> {
  const { isOurs, stamp } = wishes;
  const hash = hashOf(wishes.wanted);
  const wanted = (value: string): T => ({
    ...wishes.wanted,
    metadata: {
      ...wishes.wanted.metadata,
      annotations: { ...wishes.wanted.metadata?.annotations, [stamp]: value },
    },
  });
  const { name = "", namespace } = wishes.wanted.metadata ?? {};
  const ref: Ref = { name, ...(namespace !== undefined && { namespace }) };
  let { known } = wishes;
  if (known === undefined) {
    try {
      const { asNew = (same: T) => same } = wishes;
      const object = await client.create(resource, asNew(wanted(hash + CREATED)), options);
      return { done: "created", object };
    } catch (error) {
      if (!isReason(error, "AlreadyExists")) throw error;
      // The cache was behind, or a create of ours was cut off after it had happened.
      known = await client.get(resource, ref, options);
      client.found(resource, known);
    }
  }
  if (!isOurs(known)) return { done: "foreign", object: known };
  if (known.metadata?.deletionTimestamp !== undefined) return { done: "ending", object: known };
  const stamped = known.metadata?.annotations?.[stamp] ?? "";
  if (withoutSuffix(stamped) === hash && covers(known, wishes.wanted))
    return { done: "unchanged", object: known };
  const { rewrite = async (_known, _wanted, write) => await write() } = wishes;
  const uid = known.metadata?.uid ?? "";
  const rendered = wanted(hash);
  const write = async () => {
    if (stamped.endsWith(CREATED)) await ownByApply(client, resource, ref, uid, options);
    const applied = { ...rendered, metadata: { ...rendered.metadata, name, uid } };
    return await client.apply(resource, applied, options);
  };
  try {
    return { done: "applied", object: await rewrite(known, rendered, write) };
  } catch (error) {
    if (!isReason(error, "NotFound")) throw error;
    // It is gone, and the cache is behind: made anew when that is known.
    return { done: "ending", object: known };
  }
}

/** Ends the stamp of an object that was never applied: its fields have to become ours by apply first. */
const CREATED = "-created";

function withoutSuffix(stamp: string): string {
  return stamp.endsWith(CREATED) ? stamp.slice(0, -CREATED.length) : stamp;
}

/** Whether everything that is wanted is so; what the server or others added does not matter. */
export function covers(have: unknown, want: unknown): boolean {
  if (Array.isArray(want))
    return (
      Array.isArray(have) && have.length === want.length && want.every((item, i) => covers(have[i], item))
    );
  if (typeof want !== "object" || want === null) return have === want;
  if (typeof have !== "object" || have === null) return false;
  return Object.entries(want).every(
    ([field, value]) => value === undefined || covers((have as Record<string, unknown>)[field], value),
  );
}

function hashOf(object: unknown): string {
  return createHash("sha256").update(canonical(object)).digest("hex").slice(0, 16);
}

/** The same text for the same content, in whatever order its fields were written down. */
function canonical(value: unknown): string {
  if (typeof value !== "object" || value === null) return JSON.stringify(value) ?? "null";
  if (Array.isArray(value)) return `[${value.map(canonical).join(",")}]`;
  let text = "";
  for (const name of Object.keys(value).toSorted()) {
    const part = (value as Record<string, unknown>)[name];
    if (part !== undefined) text += `${text === "" ? "" : ","}${JSON.stringify(name)}:${canonical(part)}`;
  }
  return `{${text}}`;
}
