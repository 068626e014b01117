/** PUT and the kinds of PATCH on one object, each with its own way of saying which state it was decided on. */
import type { Kind } from "./kind.ts";
import { scaleOf } from "./kinds/ours.ts";
import {
  afterApply,
  afterWrite,
  isManaged,
  NOBODY,
  notManaging,
  type Held,
  type Managers,
} from "./managed.ts";
import { ownedPart } from "./metadata.ts";
import { isJson, json, timestamp, type Json, type KubeJson } from "./object.ts";
import { jsonPatch, mergePatch } from "./patches.ts";
import { badRequest, causes, conflict, invalid, MODIFIED, notFound, Refusal } from "./refusal.ts";
import type { Route } from "./route.ts";
import { under, type Schema } from "./schema.ts";
import type { Stored } from "./storage.ts";
import { create, keyOf, update, type World } from "./write.ts";

type Query = Readonly<Record<string, string>>;

export interface Written {
  readonly stored: Stored;
  readonly created: boolean;
}

interface Named extends Route {
  readonly name: string;
}

/** Who writes: the name given, else what the client calls itself. */
const managerOf = (query: Query) => query["fieldManager"] ?? "unknown";

function refusePlace({ kind, namespace, name }: Named, metadata: Json): void {
  const given = metadata["name"];
  if (given !== undefined && given !== name)
    throw badRequest(
      `the name of the object (${String(given)}) does not match the name on the URL (${name})`,
    );
  const place = metadata["namespace"];
  if (kind.namespaced && place !== undefined && place !== namespace)
    throw badRequest("the namespace of the provided object does not match the namespace sent on the request");
}

export function refuseType({ kind }: Route, body: Json): void {
  const { apiVersion = kind.apiVersion, kind: type = kind.kind } = body;
  if (apiVersion !== kind.apiVersion || type !== kind.kind)
    throw badRequest(
      `${String(apiVersion)}, Kind=${String(type)} in version cannot be handled as a ${kind.kind}`,
    );
}

export function replace(world: World, route: Named, body: Json, query: Query): Written {
  const { kind, namespace, name, subresource } = route;
  refuseType(route, body);
  const metadata = json(body["metadata"]);
  if (metadata["name"] === undefined) throw badRequest("name must be provided");
  refusePlace(route, metadata);
  const old = world.storage.get(kind, keyOf({ namespace, name }));
  const version = metadata["resourceVersion"] as string | undefined;
  const uid = metadata["uid"] as string | undefined;
  const by = { manager: managerOf(query), subresource };
  if (old === undefined) {
    if (!kind.createsOnUpdate || subresource !== "") throw notFound(kind, name);
    // It speaks of an object that was; a version alone is not taken for that.
    if (uid) throw conflict(kind, name, "StorageError: invalid object");
    return { stored: create(world, kind, body, by), created: true };
  }
  if (uid !== undefined && uid !== "" && uid !== old.object.metadata.uid)
    throw conflict(
      kind,
      name,
      `Precondition failed: UID in precondition: ${uid}, UID in object meta: ${old.object.metadata.uid}`,
    );
  if (!version && !kind.unconditional)
    throw invalid({ ...kind, kind: kind.plural }, name, [
      causes.invalid("metadata.resourceVersion", 0, "must be specified for an update"),
    ]);
  if (version && version !== old.object.metadata.resourceVersion) throw conflict(kind, name, MODIFIED);
  return { stored: update(world, kind, old, body, by), created: false };
}

export function patch(
  world: World,
  route: Named,
  body: unknown,
  contentType: string | undefined,
  query: Query,
): Written {
  if (contentType?.startsWith("application/apply-patch")) return apply(world, route, json(body), query);
  const { kind, namespace, name, subresource } = route;
  const old = world.storage.get(kind, keyOf({ namespace, name }));
  if (old === undefined) throw notFound(kind, name);
  const by = { manager: managerOf(query), subresource };
  if (subresource === "scale")
    return { stored: patchScale(world, route, old, json(body), by), created: false };
  const next = patched(old, body, contentType);
  const metadata = json(next["metadata"]);
  refusePlace(route, metadata);
  const version = metadata["resourceVersion"];
  if (version && version !== old.object.metadata.resourceVersion) throw conflict(kind, name, MODIFIED);
  return { stored: update(world, kind, old, next, by), created: false };
}

function patched(old: Stored, body: unknown, contentType: string | undefined): Json {
  switch (contentType) {
    case "application/merge-patch+json": {
      // managedFields are shown only where a patch may speak of them.
      const speaks = json(json(body)["metadata"])["managedFields"] !== undefined;
      return mergePatch(speaks ? old.shown : old.object, body) as Json;
    }
    case "application/json-patch+json":
      if (!Array.isArray(body)) throw badRequest("a JSON patch is a list");
      return jsonPatch(withManagedFields(old.shown), body);
    default:
      throw new Refusal(415, "UnsupportedMediaType", "the body of the request was in an unknown format");
  }
}

/** A patch may put managedFields where there are none. */
function withManagedFields(object: KubeJson): Json {
  return { ...object, metadata: { managedFields: [], ...object.metadata } };
}

function patchScale(
  world: World,
  { kind, name }: Named,
  old: Stored,
  body: Json,
  by: { manager: string; subresource: string },
): Stored {
  if (!kind.hasScale) throw notFound(kind, name);
  const scale = mergePatch(scaleOf(old.object), body) as Json;
  const version = json(scale["metadata"])["resourceVersion"];
  if (version !== old.object.metadata.resourceVersion) throw conflict(kind, name, MODIFIED);
  const replicas = json(scale["spec"])["replicas"] ?? 0;
  const next = { ...old.object, spec: { ...json(old.object["spec"]), replicas } };
  // Replicas that nobody has stated are nobody's, also when they are changed by way of the scale.
  const stated = isManaged(old.managers, REPLICAS);
  if (!stated) return update(world, kind, old, next, by, old.managers);
  // None is not written in a scale: whoever stated the number has lost it, and nobody else has it.
  if (replicas === 0) return update(world, kind, old, next, by, notManaging(old.managers, REPLICAS));
  return update(world, kind, old, next, by);
}

const REPLICAS = ["f:spec", "f:replicas"];

/** Server-side apply. It makes the object when there is none. */
function apply(world: World, route: Named, body: Json, query: Query): Written {
  const { kind, namespace, name, subresource } = route;
  const { fieldManager: manager, force } = query;
  if (!manager)
    throw new Refusal(
      422,
      "Invalid",
      `PatchOptions.meta.k8s.io "" is invalid: fieldManager: Required value: is required for apply patch`,
      { group: "meta.k8s.io", kind: "PatchOptions", causes: [causes.required("fieldManager")] },
    );
  const metadata = json(body["metadata"]);
  if (metadata["managedFields"] !== undefined) throw badRequest("metadata.managedFields must be nil");
  refuseType(route, body);
  refusePlace(route, metadata);
  const old = world.storage.get(kind, keyOf({ namespace, name }));
  if (old === undefined && subresource !== "" && !kind.createsOnUpdate) throw notFound(kind, name);
  const { uid, resourceVersion: version } = metadata;
  refuseUnknown(kind, body);
  const live = old ? ownedPart(kind, old.object, subresource) : { ...zeroOf(route), metadata: {} };
  const by = { manager, operation: "Apply" as const, apiVersion: kind.apiVersion, subresource };
  const wanted = ownedPart(kind, body, subresource);
  const now = timestamp(world.now());
  const managers = old ? managersOf(route, old, live, now) : NOBODY;
  const applied = afterApply(kind.schema, managers, live, wanted, by, now);
  if (applied.held.length > 0 && force !== "true") throw fieldConflict(applied.held);
  if (old !== undefined && version && version !== old.object.metadata.resourceVersion)
    throw conflict(kind, name, MODIFIED);
  const writer = { manager, subresource };
  const next = whole(applied.object, old?.object, "metadata" in live);
  if (old === undefined) {
    if (uid)
      throw conflict(
        kind,
        name,
        `uid mismatch: the provided object specified uid ${String(uid)}, and no existing object was found`,
      );
    const place = { ...json(next["metadata"]), name, ...(namespace !== undefined && { namespace }) };
    const object = { ...next, metadata: place };
    return { stored: create(world, kind, object, writer, applied.managers), created: true };
  }
  const own = { ...json(next["metadata"]), ...(uid !== undefined && { uid }) };
  const object = { ...next, metadata: own };
  return { stored: update(world, kind, old, object, writer, applied.managers), created: false };
}

/** An apply speaks of fields by their schema; what that does not know cannot be owned. */
function refuseUnknown(kind: Kind, body: Json): void {
  if (kind.builtIn) return;
  for (const part of ["spec", "status"]) {
    const path = undeclared(under(kind.schema, part), body[part], `.${part}`);
    if (path === undefined) continue;
    const message = `failed to create typed patch object (; ${kind.apiVersion}, Kind=${kind.kind}): ${path}: field not declared in schema`;
    throw new Refusal(500, undefined, message);
  }
}

function undeclared(schema: Schema, value: unknown, path: string): string | undefined {
  if (schema.type === "list" && Array.isArray(value)) {
    const found = value.map((item, i) => undeclared(schema.of, item, `${path}[${i}]`));
    return found.find((one) => one !== undefined);
  }
  if (!isJson(value) || (schema.type !== "struct" && schema.type !== "map")) return undefined;
  for (const [name, child] of Object.entries(value)) {
    if (schema.type === "struct" && !(name in schema.fields) && schema.rest === undefined)
      return `${path}.${name}`;
    const found = undeclared(under(schema, name), child, `${path}.${name}`);
    if (found !== undefined) return found;
  }
  return undefined;
}

/** Fields that nobody is known to have set belong to whoever was before the first apply. */
function managersOf(route: Route, old: Stored, live: unknown, now: string): Managers {
  if (old.managers.size > 0) return old.managers;
  const { apiVersion, schema } = route.kind;
  const by = {
    manager: "before-first-apply",
    operation: "Update" as const,
    apiVersion,
    subresource: route.subresource,
  };
  return afterWrite(schema, NOBODY, { ...zeroOf(route), metadata: {} }, live, by, now);
}

function zeroOf({ kind, subresource }: Route): Json {
  return ownedPart(kind, { ...kind.zero, metadata: {} }, subresource);
}

/** The parts that have owners, put back among those that have none. */
function whole(owned: unknown, old: KubeJson | undefined, withMetadata: boolean): Json {
  const part: Json = withMetadata ? { metadata: {}, ...json(owned) } : json(owned);
  if (!old) return part;
  const { name, namespace, uid, creationTimestamp } = old.metadata;
  const kept = { name, ...(namespace !== undefined && { namespace }), uid, creationTimestamp };
  const metadata = "metadata" in part ? { ...json(part["metadata"]), ...kept } : old.metadata;
  const { metadata: _, ...others } = part;
  const known = "metadata" in part && !("spec" in part) && old["spec"] !== undefined;
  return {
    ...(known ? { spec: old["spec"] } : {}),
    ...(isJson(old["status"]) ? { status: old["status"] } : {}),
    ...others,
    metadata,
  };
}

function fieldConflict(held: readonly Held[]): Refusal {
  const found = held.flatMap(({ by, fields }) =>
    fields.map((field) => ({
      reason: "FieldManagerConflict",
      message: `conflict with "${by.manager}"${by.subresource === "" ? "" : ` with subresource "${by.subresource}"`}${by.operation === "Update" ? ` using ${by.apiVersion}` : ""}`,
      field,
    })),
  );
  const count = found.length === 1 ? "1 conflict" : `${found.length} conflicts`;
  return new Refusal(409, "Conflict", `Apply failed with ${count}`, { causes: found });
}
