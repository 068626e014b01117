/**
 * Making and changing objects: the steps that every write goes through, whatever verb it came by. Nothing here
 * waits; a write has happened when the call returns.
 */
import type { Kind, Surroundings } from "./kind.ts";
import {
  afterUpdate,
  afterWrite,
  fromManagedFields,
  NOBODY,
  sameManagers,
  type Managers,
} from "./managed.ts";
import { checkMetadata, checkMetadataChange, keepMetadata, metadataOf, ownedPart } from "./metadata.ts";
import { json, same, timestamp, type Json, type KubeJson } from "./object.ts";
import { alreadyExists, forbidden, invalid, type Cause } from "./refusal.ts";
import { Stored, type Storage } from "./storage.ts";

export interface World {
  readonly storage: Storage;
  readonly surroundings: Surroundings;
  /** Milliseconds of wall time. */
  now(): number;
  uid(): string;
}

export interface By {
  readonly manager: string;
  readonly subresource: string;
}

export function keyOf({ namespace, name }: { namespace?: string | undefined; name: string }): string {
  return namespace === undefined ? name : `${namespace}/${name}`;
}

/** `managers` is given by an apply, which knows them; otherwise what was written is its writer's. */
export function create(world: World, kind: Kind, given: Json, by: By, managers?: Managers): Stored {
  const { storage } = world;
  const now = world.now();
  const metadata = json(given["metadata"]);
  const decoded = kind.decode({ ...given, apiVersion: kind.apiVersion, kind: kind.kind });
  const admitted = kind.admit?.(decoded, world.surroundings) ?? decoded;
  const prepared = kind.prepare?.(admitted, undefined, world.surroundings) ?? admitted;
  const { deletionTimestamp: _d, deletionGracePeriodSeconds: _g, ...own } = json(prepared["metadata"]);
  const base = String(metadata["generateName"] ?? "");
  const name = (metadata["name"] as string | undefined) || `${base}${world.surroundings.suffix()}`;
  const object = {
    ...prepared,
    metadata: metadataOf({
      ...own,
      name,
      uid: world.uid(),
      resourceVersion: storage.next,
      creationTimestamp: timestamp(now),
      generation: kind.counts ? 1 : undefined,
    }),
  } as unknown as KubeJson;
  refuseInvalid(kind, object, checkMetadata(kind, object), kind.check?.(object, undefined, "") ?? []);
  const key = keyOf(object.metadata);
  if (storage.get(kind, key) !== undefined) throw alreadyExists(kind, name);
  const before = ownedPart(kind, { ...kind.zero, metadata: {} }, "");
  const after = ownedPart(kind, decoded, "");
  const known =
    managers === undefined
      ? () => afterWrite(kind.schema, NOBODY, before, after, entryOf(kind, by), timestamp(now))
      : () => managers;
  const stored = new Stored(object, known);
  if (kind.restless) fresh.add(stored);
  storage.put(kind, key, stored);
  return stored;
}

function entryOf(kind: Kind, { manager, subresource }: By) {
  return { manager, operation: "Update" as const, apiVersion: kind.apiVersion, subresource };
}

/** Made, and not written since. */
const fresh = new WeakSet<Stored>();

/** The object as it is to be, with what this way of writing does not reach put back to what it was. */
function reaching(kind: Kind, next: Json, old: KubeJson, subresource: string): Json {
  if (!kind.hasStatus) return next;
  if (subresource !== "status") return { ...next, status: old["status"] };
  if (kind.statusKeepsMetadata) return { ...old, status: next["status"] };
  return { ...old, metadata: next["metadata"], status: next["status"] };
}

export function update(
  world: World,
  kind: Kind,
  old: Stored,
  given: Json,
  by: By,
  managers?: Managers,
): Stored {
  const now = world.now();
  const decoded = kind.decode({ ...given, apiVersion: kind.apiVersion, kind: kind.kind });
  const before = old.object;
  const reached = reaching(kind, decoded, before, by.subresource);
  const prepared =
    by.subresource === "" ? (kind.prepare?.(reached, before, world.surroundings) ?? reached) : reached;
  const metadata = keepMetadata(json(prepared["metadata"]), before.metadata);
  const object = without({ ...prepared, metadata }) as KubeJson;
  const causes = [...checkMetadataChange(object.metadata, before.metadata), ...checkMetadata(kind, object)];
  refuseInvalid(kind, object, causes, kind.check?.(object, before, by.subresource) ?? []);
  const why = kind.forbids?.(object, before, world.surroundings);
  if (why !== undefined) throw forbidden(kind, object.metadata.name, why);
  const given2 = fromManagedFields(json(given["metadata"])["managedFields"]);
  const [left, right] = [ownedPart(kind, before, by.subresource), ownedPart(kind, decoded, by.subresource)];
  const after =
    managers === undefined
      ? () => {
          const known = given2 ?? old.managers;
          return afterUpdate(kind.schema, known, left, right, entryOf(kind, by), timestamp(now));
        }
      : () => managers;
  const bumped = counted(kind, object, before, by.subresource);
  if (isSame(bumped, before) && !(kind.restless && fresh.has(old))) {
    // Only who owns what may differ; to know that it has to be worked out.
    if (managers === undefined && given2 === undefined && same(left, right)) return old;
    if (sameManagers(after(), old.managers)) return old;
  }
  return put(world, kind, old, bumped, after);
}

/** Writes what was made from `old`, or ends it when it was waiting for that. */
export function put(
  world: World,
  kind: Kind,
  old: Stored,
  object: KubeJson,
  managers: () => Managers,
): Stored {
  const { storage } = world;
  const key = keyOf(object.metadata);
  const versioned: KubeJson = {
    ...object,
    metadata: { ...object.metadata, resourceVersion: storage.next },
  };
  const depth = old.isKnown ? 0 : old.depth + 1;
  const stored = new Stored(versioned, managers, depth);
  const { deletionTimestamp, deletionGracePeriodSeconds = 0, finalizers = [] } = object.metadata;
  const ends = deletionTimestamp !== undefined && deletionGracePeriodSeconds === 0 && finalizers.length === 0;
  if (!ends) {
    storage.put(kind, key, stored);
    return stored;
  }
  // Watches are reported it as it was before; only its version is that of its end.
  const last = { ...old.object, metadata: { ...old.object.metadata, resourceVersion: storage.next } };
  storage.remove(kind, key, new Stored(last, () => old.managers, depth));
  // Its last writer is answered with what was written, which has no version of its own.
  const { resourceVersion } = old.object.metadata;
  return new Stored({ ...object, metadata: { ...object.metadata, resourceVersion } }, () => stored.managers);
}

function counted(kind: Kind, object: KubeJson, before: KubeJson, subresource: string): KubeJson {
  if (!kind.counts || subresource === "status") return object;
  const { metadata: _m, status: _s, ...rest } = object;
  const { metadata: _bm, status: _bs, ...was } = before;
  if (same(rest, was)) return object;
  const generation = (before.metadata.generation ?? 0) + 1;
  return { ...object, metadata: { ...object.metadata, generation } };
}

function isSame(object: KubeJson, before: KubeJson): boolean {
  const { resourceVersion: _a, ...own } = object.metadata;
  const { resourceVersion: _b, ...was } = before.metadata;
  return same(own, was) && same({ ...object, metadata: 0 }, { ...before, metadata: 0 });
}

function without(object: Json): Json {
  return object["status"] === undefined && "status" in object
    ? Object.fromEntries(Object.entries(object).filter(([name]) => name !== "status"))
    : object;
}

function refuseInvalid(kind: Kind, object: KubeJson, ...found: readonly (readonly Cause[])[]): void {
  const all = found.flat();
  if (all.length > 0) throw invalid(kind, object.metadata.name, all);
}
