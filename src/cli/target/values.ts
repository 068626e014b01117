/** The flags that choose the target. */
import type { SharedValues } from "../flag.ts";

export type TargetValues = Pick<
  SharedValues,
  "namespace" | "context" | "kubeconfig" | "local" | "dir" | "name" | "all-namespaces"
>;
