/**
 * Objects of the model API server: plain JSON, frozen, shared and never copied. Helpers for reading what nobody
 * has typed, and for telling whether two are the same.
 */
import type { OwnerReference } from "../../../src/kube/resources.ts";

export interface Meta {
  readonly name: string;
  readonly namespace?: string;
  readonly generateName?: string;
  readonly uid: string;
  readonly resourceVersion: string;
  readonly generation?: number;
  readonly creationTimestamp: string;
  readonly deletionTimestamp?: string;
  readonly deletionGracePeriodSeconds?: number;
  readonly labels?: Readonly<Record<string, string>>;
  readonly annotations?: Readonly<Record<string, string>>;
  readonly finalizers?: readonly string[];
  readonly ownerReferences?: readonly OwnerReference[];
}

/** Any JSON object. */
export type Json = Readonly<Record<string, unknown>>;

/** An object as it is stored: whole metadata, and whatever its kind has. */
export interface KubeJson extends Json {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: Meta;
}

export function isJson(value: unknown): value is Json {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** The object in a field; an empty one when there is none. */
export function json(value: unknown): Json {
  return isJson(value) ? value : {};
}

export function items(value: unknown): readonly Json[] {
  return Array.isArray(value) ? (value as Json[]) : [];
}

export function same(a: unknown, b: unknown): boolean {
  if (a === b) return true;
  if (typeof a !== "object" || typeof b !== "object" || a === null || b === null) return false;
  if (Array.isArray(a)) {
    if (!Array.isArray(b) || a.length !== b.length) return false;
    return a.every((item, i) => same(item, b[i]));
  }
  if (Array.isArray(b)) return false;
  const [left, right] = [a as Json, b as Json];
  let count = 0;
  for (const name in left) {
    if (left[name] === undefined) continue;
    count++;
    if (!same(left[name], right[name])) return false;
  }
  for (const name in right) if (right[name] !== undefined) count--;
  return count === 0;
}

export function frozen<T>(value: T): T {
  if (typeof value !== "object" || value === null || Object.isFrozen(value)) return value;
  for (const name in value) frozen(value[name]);
  return Object.freeze(value);
}

/** `2030-01-07T12:00:00Z`: the API counts in whole seconds. */
export function timestamp(ms: number): string {
  return `${new Date(ms).toISOString().slice(0, 19)}Z`;
}
