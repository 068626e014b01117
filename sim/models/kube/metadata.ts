/** The rules of metadata: what the server fills in, what nobody may change, and what names and labels look like. */
import type { Kind } from "./kind.ts";
import { items, json, same, type Json, type KubeJson, type Meta } from "./object.ts";
import { causes, type Cause } from "./refusal.ts";

const SUBDOMAIN = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/;
const LABEL = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?$/;
const VALUE = /^(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?$/;
const QUALIFIED = /^([a-z0-9]([-a-z0-9.]*[a-z0-9])?\/)?[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?$/;

/** Fields that only the server writes, taken from the object as it is when a client leaves them out. */
const KEPT = [
  "uid",
  "creationTimestamp",
  "deletionTimestamp",
  "deletionGracePeriodSeconds",
  "namespace",
] as const;

/** The order and the fields of metadata; the rest is dropped. */
export function metadataOf(given: Json): Json {
  const out: Record<string, unknown> = {};
  for (const name of FIELDS) {
    const value = given[name];
    if (value === undefined || value === null) continue;
    if (CONTAINERS.has(name) && Object.keys(value as object).length === 0) continue;
    out[name] = name === "ownerReferences" ? uniqueOwners(items(value)) : value;
  }
  return out;
}

const FIELDS = [
  "name",
  "generateName",
  "namespace",
  "uid",
  "resourceVersion",
  "generation",
  "creationTimestamp",
  "deletionTimestamp",
  "deletionGracePeriodSeconds",
  "labels",
  "annotations",
  "ownerReferences",
  "finalizers",
];
const CONTAINERS = new Set(["labels", "annotations", "ownerReferences", "finalizers"]);

function uniqueOwners(owners: readonly Json[]): readonly Json[] {
  return owners.filter((owner, i) => owners.findIndex((other) => same(other, owner)) === i);
}

export function checkMetadata(kind: Kind, object: KubeJson): readonly Cause[] {
  const { name, labels = {}, finalizers = [], ownerReferences = [] } = object.metadata;
  const found: Cause[] = [];
  const shape = kind.plural === "services" || kind.plural === "namespaces" ? LABEL : SUBDOMAIN;
  const longest = shape === LABEL ? 63 : 253;
  const isFree = kind.plural === "poddisruptionbudgets";
  if (!isFree && (!shape.test(name) || name.length > longest))
    found.push(causes.invalid("metadata.name", name, "a lowercase RFC 1123 subdomain is needed"));
  for (const [key, value] of Object.entries(labels)) {
    if (!QUALIFIED.test(key)) found.push(causes.invalid("metadata.labels", key, "name part is not valid"));
    if (!VALUE.test(value) || value.length > 63)
      found.push(causes.invalid("metadata.labels", value, "a valid label is needed"));
  }
  for (const [i, finalizer] of finalizers.entries()) {
    if (!QUALIFIED.test(finalizer))
      found.push(causes.invalid("metadata.finalizers", finalizer, "name part is not valid"));
    else if (kind.builtIn && !finalizer.includes("/") && !STANDARD.has(finalizer))
      found.push(
        causes.invalid(
          `metadata.finalizers[${i}]`,
          finalizer,
          "name is neither a standard finalizer name nor is it fully qualified",
        ),
      );
  }
  const controllers = ownerReferences.filter((owner) => owner.controller === true);
  if (controllers.length > 1)
    found.push(
      causes.invalid(
        "metadata.ownerReferences",
        ownerReferences,
        "Only one reference can have Controller set to true",
      ),
    );
  return found;
}

const STANDARD = new Set(["orphan", "foregroundDeletion", "kubernetes"]);

/** What a client leaves out of its object is as it was. */
export function keepMetadata(given: Json, old: Meta): Json {
  const out: Record<string, unknown> = { ...given, generation: old.generation };
  for (const field of KEPT) if (!out[field]) out[field] = old[field];
  // Deleting is not done by writing.
  out["deletionTimestamp"] = old.deletionTimestamp;
  out["deletionGracePeriodSeconds"] = old.deletionGracePeriodSeconds;
  return metadataOf(out);
}

export function checkMetadataChange(after: Meta, before: Meta): readonly Cause[] {
  const found: Cause[] = [];
  for (const field of ["uid", "creationTimestamp", "namespace"] as const)
    if (after[field] !== before[field])
      found.push(causes.invalid(`metadata.${field}`, after[field], "field is immutable"));
  const added = (after.finalizers ?? []).filter((one) => !(before.finalizers ?? []).includes(one));
  if (before.deletionTimestamp !== undefined && added.length > 0)
    found.push(
      causes.forbidden(
        "metadata.finalizers",
        `no new finalizers can be added if the object is being deleted, found new finalizers ${JSON.stringify(added)}`,
      ),
    );
  return found;
}

/** What of an object has owners: all but what the server itself keeps. */
export function ownedPart(kind: Kind, object: Json, subresource: string): Json {
  const { apiVersion: _a, kind: _k, metadata, status, ...rest } = object;
  const {
    name: _n,
    namespace: _ns,
    uid: _u,
    resourceVersion: _rv,
    generation: _g,
    creationTimestamp: _c,
    managedFields: _m,
    selfLink: _s,
    ...owned
  } = json(metadata);
  const view: Record<string, unknown> =
    kind.hasStatus && subresource === "status" ? statusPart(kind, rest, status) : { ...rest };
  if (!kind.hasStatus && status !== undefined) view["status"] = status;
  if (subresource === "status" && kind.statusKeepsMetadata) return view;
  return { metadata: owned, ...view };
}

function statusPart(kind: Kind, rest: Json, status: unknown): Record<string, unknown> {
  // Fields other than the spec are nobody's in a status write of ours, and of the server's own kinds too.
  const { spec: _, ...others } = rest;
  return { ...(kind.builtIn ? others : {}), ...(status !== undefined && { status }) };
}
