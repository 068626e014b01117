/**
 * A validation rule, said once: the CEL that the Kubernetes API server evaluates and the same
 * check as a function for the local platform, with one message for both. Rules hang on schema
 * nodes as metadata, so that a field, its rules and its documentation stay together.
 */
import type { z } from "zod";

export interface Rule<T = unknown> {
  /** Evaluated by the API server. `self` is the value, `oldSelf` the stored one (transition rules). */
  readonly cel: string;
  /** What is wrong and what to do. */
  readonly message: string;
  /** The same as `cel`. `old` is given only when an object is changed, and only if the value existed before. */
  check(value: T, old: T | undefined): boolean;
  /** True for rules that use `oldSelf`: they do not run when an object is created. */
  readonly transition?: boolean;
  /** Where the error is reported, relative to the node, e.g. `.storage.hostPath`. */
  readonly fieldPath?: string;
  /** A CEL string expression that names the culprit, and its twin. `message` is the fallback. */
  readonly messageExpression?: string;
  messageFor?(value: T): string;
}

/** How a field that only makes sense on Kubernetes is treated elsewhere. */
export type KubernetesOnly = "warn" | "refuse";

declare module "zod" {
  interface GlobalMeta {
    rules?: readonly Rule<never>[];
    /** `refuse`: ignoring the field would change what happens to data, so other platforms reject it. */
    kubernetesOnly?: KubernetesOnly;
    /** The Kubernetes type that this copies: the reference names it instead of listing its fields. */
    kubernetesType?: string;
    "x-kubernetes-int-or-string"?: boolean;
    "x-kubernetes-preserve-unknown-fields"?: boolean;
    "x-kubernetes-list-type"?: "atomic" | "set" | "map";
    "x-kubernetes-list-map-keys"?: string[];
    "x-kubernetes-map-type"?: "atomic" | "granular";
    /** `date-time`. */
    format?: string;
    /** Of strings. */
    pattern?: string;
    maxProperties?: number;
  }
}

/** Attaches rules to a node, after those it has. */
export function withRules<S extends z.ZodType>(schema: S, ...rules: Rule<z.output<S>>[]): S {
  const before = schema.meta()?.rules ?? [];
  return schema.meta({ rules: [...before, ...(rules as unknown as readonly Rule<never>[])] });
}
