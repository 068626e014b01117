/**
 * What a kind of object is called in URLs. A descriptor carries the TypeScript type of its objects, so that
 * `client.get(pods, …)` gives a Pod and nobody writes a path by hand.
 */
import type { ConfigMap, Pod, Service } from "kubernetes-types/core/v1.d.ts";
import type { Lease as LeaseObject } from "kubernetes-types/coordination/v1.d.ts";
import type { Event } from "kubernetes-types/events/v1.d.ts";

export interface OwnerReference {
  readonly apiVersion: string;
  readonly kind: string;
  readonly name: string;
  readonly uid: string;
  readonly controller?: boolean;
  readonly blockOwnerDeletion?: boolean;
}

/** What this runtime reads of an object's metadata; objects may have more. */
export interface ObjectMeta {
  readonly name?: string;
  readonly generateName?: string;
  readonly namespace?: string;
  readonly uid?: string;
  readonly resourceVersion?: string;
  readonly generation?: number;
  readonly labels?: Readonly<Record<string, string>>;
  readonly annotations?: Readonly<Record<string, string>>;
  readonly creationTimestamp?: string;
  readonly deletionTimestamp?: string;
  readonly deletionGracePeriodSeconds?: number;
  readonly finalizers?: readonly string[];
  readonly ownerReferences?: readonly OwnerReference[];
}

export interface KubeObject {
  readonly apiVersion?: string;
  readonly kind?: string;
  readonly metadata?: ObjectMeta;
}

export interface Resource<T extends KubeObject = KubeObject> {
  /** Empty for the core group. */
  readonly group: string;
  readonly version: string;
  readonly kind: string;
  readonly plural: string;
  readonly namespaced: boolean;
  /** Never set: it ties the type of the objects to the descriptor. */
  readonly objects?: T;
}

/** One object of a resource. */
export interface Ref {
  readonly name: string;
  readonly namespace?: string;
}

export function resource<T extends KubeObject>(
  apiVersion: string,
  kind: string,
  plural: string,
  options: { readonly namespaced?: boolean } = {},
): Resource<T> {
  const slash = apiVersion.indexOf("/");
  return {
    group: apiVersion.slice(0, Math.max(0, slash)),
    version: apiVersion.slice(slash + 1),
    kind,
    plural,
    namespaced: options.namespaced ?? true,
  };
}

/** Those that this runtime and its tests use; a program describes its own in one line each. */
export const configMaps = resource<ConfigMap>("v1", "ConfigMap", "configmaps");
export const pods = resource<Pod>("v1", "Pod", "pods");
export const services = resource<Service>("v1", "Service", "services");
export const leases = resource<LeaseObject>("coordination.k8s.io/v1", "Lease", "leases");
export const events = resource<Event>("events.k8s.io/v1", "Event", "events");

export function apiVersionOf({ group, version }: Resource): string {
  return group === "" ? version : `${group}/${version}`;
}

/** `/api/v1/namespaces/default/pods/web/status`; without a namespace, all of them (lists and watches only). */
export function pathOf(
  resource: Resource,
  place: { readonly namespace?: string; readonly name?: string; readonly subresource?: string } = {},
): string {
  const { group, version, plural, namespaced } = resource;
  const parts = group === "" ? ["/api", version] : ["/apis", group, version];
  if (namespaced && place.namespace !== undefined) parts.push("namespaces", segment(place.namespace));
  parts.push(plural);
  if (place.name !== undefined) {
    // Otherwise the name would be read as that of something else, cluster-wide.
    if (namespaced && place.namespace === undefined)
      throw new TypeError(`${plural} ${place.name}: a namespace is needed`);
    parts.push(segment(place.name));
  }
  if (place.subresource !== undefined) parts.push(place.subresource);
  return parts.join("/");
}

/** A name from outside must not climb out of its place in the path. */
function segment(name: string): string {
  if (name === "" || name === "." || name === "..")
    throw new TypeError(`"${name}" is not a valid object name`);
  return encodeURIComponent(name);
}

/** `namespace/name`, or the name alone for what has no namespace. */
export function keyOf(object: KubeObject): string {
  const { name = "", namespace } = object.metadata ?? {};
  return namespace === undefined ? name : `${namespace}/${name}`;
}

export function refOf(key: string): Ref {
  const slash = key.indexOf("/");
  return slash < 0 ? { name: key } : { namespace: key.slice(0, slash), name: key.slice(slash + 1) };
}

/**
 * Whether `a` is newer than `b`, as the API server counts: whole numbers that only grow, longer than what a
 * JavaScript number holds exactly. Undefined when either is not of that form.
 */
export function isNewer(a: string | undefined, b: string | undefined): boolean | undefined {
  if (a === undefined || b === undefined || !NUMBER.test(a) || !NUMBER.test(b)) return undefined;
  return a.length === b.length ? a > b : a.length > b.length;
}

const NUMBER = /^[1-9]\d*$/;

/** Whether the object's controller is the one with this UID; names return, UIDs never do. */
export function isControlledBy(object: KubeObject, uid: string): boolean {
  return object.metadata?.ownerReferences?.some((ref) => ref.controller === true && ref.uid === uid) ?? false;
}

/** Whether it goes with the object of this UID, which need not be its controller. */
export function isOwnedBy(object: KubeObject, uid: string): boolean {
  return object.metadata?.ownerReferences?.some((ref) => ref.uid === uid) ?? false;
}

/**
 * A write that took the last finalizer away ended the object with it. The answer shows it once more, in a version
 * that a cache has seen long since.
 */
export function hasEnded({ metadata }: KubeObject): boolean {
  const { deletionTimestamp, deletionGracePeriodSeconds = 0, finalizers = [] } = metadata ?? {};
  return deletionTimestamp !== undefined && deletionGracePeriodSeconds === 0 && finalizers.length === 0;
}
