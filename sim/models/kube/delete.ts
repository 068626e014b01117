/**
 * Deleting: preconditions, grace, finalizers and what becomes of dependents. An object goes at once, or is marked
 * and goes when whoever is to be waited for has let go.
 */
import type { Kind } from "./kind.ts";
import { json, timestamp, type KubeJson } from "./object.ts";
import { conflict, Refusal } from "./refusal.ts";
import { Stored } from "./storage.ts";
import { keyOf, put, type World } from "./write.ts";

export type Propagation = "Background" | "Foreground" | "Orphan";

export interface DeleteOptions {
  readonly uid: string | undefined;
  readonly resourceVersion: string | undefined;
  readonly gracePeriodSeconds: number | undefined;
  readonly propagation: Propagation | undefined;
}

export function deleteOptions(body: unknown, query: Readonly<Record<string, string>>): DeleteOptions {
  const given = json(body);
  const preconditions = json(given["preconditions"]);
  const grace = given["gracePeriodSeconds"] ?? query["gracePeriodSeconds"];
  const propagation = given["propagationPolicy"] ?? query["propagationPolicy"];
  if (propagation !== undefined && !["Background", "Foreground", "Orphan"].includes(String(propagation)))
    throw new Refusal(
      422,
      "Invalid",
      `DeleteOptions.meta.k8s.io "" is invalid: propagationPolicy: Unsupported value: "${String(propagation)}"`,
      {
        group: "meta.k8s.io",
        kind: "DeleteOptions",
        causes: [
          { reason: "FieldValueNotSupported", message: "Unsupported value", field: "propagationPolicy" },
        ],
      },
    );
  return {
    uid: preconditions["uid"] as string | undefined,
    resourceVersion: preconditions["resourceVersion"] as string | undefined,
    gracePeriodSeconds: grace === undefined ? undefined : Number(grace),
    propagation: propagation as Propagation | undefined,
  };
}

const ORPHAN = "orphan";
const FOREGROUND = "foregroundDeletion";

/** `gone`: the object as it was when it went. */
export interface Deleted {
  readonly gone: boolean;
  readonly stored: Stored;
}

export function deleteObject(world: World, kind: Kind, old: Stored, options: DeleteOptions): Deleted {
  const { object } = old;
  const { name, uid, resourceVersion, deletionTimestamp } = object.metadata;
  if (options.uid !== undefined && options.uid !== uid)
    throw conflict(
      asKind(kind),
      name,
      `Precondition failed: UID in precondition: ${options.uid}, UID in object meta: ${uid}`,
    );
  if (options.resourceVersion !== undefined && options.resourceVersion !== resourceVersion)
    throw conflict(
      asKind(kind),
      name,
      `Precondition failed: ResourceVersion in precondition: ${options.resourceVersion}, ResourceVersion in object meta: ${resourceVersion}`,
    );
  if (kind.plural === "namespaces") return terminateNamespace(world, kind, old);
  const finalizers = finalizersAfter(object, kind.collected ? options.propagation : undefined);
  const grace = kind.grace?.(object, options.gracePeriodSeconds) ?? 0;
  if (deletionTimestamp !== undefined) return again(world, kind, old, finalizers, grace);
  const { generation } = object.metadata;
  if (grace === 0 && finalizers.length === 0 && kind.grace === undefined)
    return { gone: true, stored: end(world, kind, old) };
  const marked: KubeJson = {
    ...object,
    metadata: {
      ...withFinalizers(object, finalizers),
      deletionTimestamp: timestamp(world.now() + grace * 1_000),
      deletionGracePeriodSeconds: grace,
      ...(generation !== undefined && { generation: generation + 1 }),
    },
  };
  return settled(world, kind, old, marked);
}

/** Here the server names the kind, not the resource; an event is what it is stored as. */
const asKind = (kind: Kind) => ({
  ...kind,
  plural: kind.kind,
  group: kind.kind === "Event" ? "" : kind.group,
});

/** It is on its way out already: only the grace can become shorter, and the wish for dependents another. */
function again(world: World, kind: Kind, old: Stored, finalizers: readonly string[], grace: number): Deleted {
  const { object } = old;
  const { deletionGracePeriodSeconds: left = 0, finalizers: had = [] } = object.metadata;
  const shorter = grace < left;
  // Who waits for the end of a grace period is not asked a second time what to do with dependents.
  if (left > 0 && !shorter) return { gone: false, stored: old };
  if (left === 0 && finalizers.length === 0) return { gone: true, stored: end(world, kind, old) };
  const changed = finalizers.length !== had.length || finalizers.some((one) => !had.includes(one));
  if (!shorter && !changed) return { gone: false, stored: old };
  const due = Date.parse(object.metadata.deletionTimestamp ?? "") - (left - grace) * 1_000;
  const marked: KubeJson = {
    ...object,
    metadata: {
      ...withFinalizers(object, finalizers),
      ...(shorter && {
        deletionGracePeriodSeconds: grace,
        deletionTimestamp: timestamp(Math.max(due, world.now())),
      }),
    },
  };
  return settled(world, kind, old, marked);
}

/** Marks it; when there is nothing to wait for, its end is a second change that follows at once. */
function settled(world: World, kind: Kind, old: Stored, marked: KubeJson): Deleted {
  const { deletionGracePeriodSeconds: grace = 0, finalizers = [] } = marked.metadata;
  const gone = grace === 0 && finalizers.length === 0;
  if (!gone) return { gone, stored: put(world, kind, old, marked, () => old.managers) };
  if (kind.grace === undefined) return { gone, stored: end(world, kind, old) };
  const { storage } = world;
  const metadata = { ...marked.metadata, resourceVersion: storage.next };
  const stored = new Stored({ ...marked, metadata }, () => old.managers, old.isKnown ? 0 : old.depth + 1);
  storage.put(kind, keyOf(metadata), stored);
  return { gone, stored: end(world, kind, stored) };
}

function withFinalizers({ metadata }: KubeJson, finalizers: readonly string[]): KubeJson["metadata"] {
  const { finalizers: _, ...rest } = metadata;
  return finalizers.length > 0 ? { ...rest, finalizers } : rest;
}

/** Orphan and foreground are finalizers that the garbage collector takes off. */
function finalizersAfter({ metadata }: KubeJson, propagation: Propagation | undefined): readonly string[] {
  const had = metadata.finalizers ?? [];
  if (propagation === undefined) return had;
  const others = had.filter((one) => one !== ORPHAN && one !== FOREGROUND);
  if (propagation === "Orphan") return [...others, ORPHAN];
  return propagation === "Foreground" ? [...others, FOREGROUND] : others;
}

/** Takes an object out, whatever it waits for. */
export function end(world: World, kind: Kind, old: Stored): Stored {
  const { storage } = world;
  const object: KubeJson = {
    ...old.object,
    metadata: { ...old.object.metadata, resourceVersion: storage.next },
  };
  const stored = new Stored(object, () => old.managers, old.isKnown ? 0 : old.depth + 1);
  storage.remove(kind, keyOf(object.metadata), stored);
  return stored;
}

/** A namespace goes when everything in it has gone, which its controller sees to. */
function terminateNamespace(world: World, kind: Kind, old: Stored): Deleted {
  const { object } = old;
  if (object.metadata.deletionTimestamp !== undefined) return { gone: false, stored: old };
  const finalizers = json(object["spec"])["finalizers"] as readonly string[] | undefined;
  if (!finalizers?.length && !object.metadata.finalizers?.length)
    return { gone: true, stored: end(world, kind, old) };
  const marked: KubeJson = {
    ...object,
    metadata: { ...object.metadata, deletionTimestamp: timestamp(world.now()) },
    status: { ...json(object["status"]), phase: "Terminating" },
  };
  const stored = new Stored(
    { ...marked, metadata: { ...marked.metadata, resourceVersion: world.storage.next } },
    () => old.managers,
  );
  world.storage.put(kind, keyOf(marked.metadata), stored);
  return { gone: false, stored };
}
