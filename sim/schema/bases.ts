/**
 * The clusters that fields are explored on. What a field does may depend on where members keep their data and on
 * whether clients use TLS: a size means little in memory, an extra name nothing in plaintext.
 */
import { completed, type Spec } from "./check.ts";
import type { Field, Step } from "./fields.ts";

export interface Base {
  readonly name: string;
  /** What makes it differ from the usual one. No trial on this base changes it, but for the size. */
  readonly given: Spec;
}

export const USUAL: Base = { name: "usual", given: {} };

export const BASES: readonly Base[] = [
  USUAL,
  { name: "Memory", given: { storage: { medium: "Memory", size: "4Gi" } } },
  { name: "Ephemeral", given: { storage: { medium: "Ephemeral", size: "8Gi" } } },
  { name: "HostPath", given: { storage: { medium: "HostPath", hostPath: "/var/lib/etcd-data" } } },
  { name: "plaintext", given: { tls: { mode: "Disabled" } } },
];

/** A small cluster where all that matters is what is handed on to Pods. */
export function specOf({ given }: Base, { handedOn }: Field): Spec {
  return completed({ replicas: handedOn ? 1 : 3, version: "3.6.16", ...given });
}

/** What Kubernetes is handed as it is does not depend on the base; a field that makes the base is not tried on it. */
export function isExploredOn(base: Base, field: Field): boolean {
  if (base === USUAL) return true;
  return !field.handedOn && !definingPaths(base).some((path) => isWithin(path, field.steps));
}

/** Whether a spec is still one of this base. */
export function keepsBase(base: Base, spec: Spec): boolean {
  return definingPaths(base).every((path) => valueAt(spec, path) === valueAt(base.given, path));
}

const valueAt = (spec: Spec, path: readonly Step[]): unknown =>
  path.reduce<unknown>((value, step) => (value as Spec | undefined)?.[step], spec);

/** `storage.medium` and the like. The size is no part of what a medium is: it is tried. */
function definingPaths({ given }: Base): Step[][] {
  return Object.entries(given).flatMap(([outer, inner]) =>
    Object.keys(inner as object)
      .filter((name) => name !== "size")
      .map((name) => [outer, name]),
  );
}

const isWithin = (path: readonly Step[], steps: readonly Step[]): boolean =>
  steps.every((step, index) => path[index] === undefined || path[index] === step);
