/** Taints of nodes and what Pods tolerate. */
import { items, json, type Json, type KubeJson } from "../object.ts";

export const UNREACHABLE = "node.kubernetes.io/unreachable";
export const NOT_READY = "node.kubernetes.io/not-ready";
export const OUT_OF_SERVICE = "node.kubernetes.io/out-of-service";

export function taints(node: KubeJson): readonly Json[] {
  return items(json(node["spec"])["taints"]);
}

export function hasTaint(node: KubeJson, key: string): boolean {
  return taints(node).some((taint) => taint["key"] === key);
}

function toleration(pod: KubeJson, taint: Json): Json | undefined {
  return items(json(pod["spec"])["tolerations"]).find(
    ({ key, operator = "Equal", value = "", effect }) =>
      (effect === undefined || effect === taint["effect"]) &&
      (key === undefined ? operator === "Exists" : key === taint["key"]) &&
      (operator === "Exists" || value === (taint["value"] ?? "")),
  );
}

export function tolerates(pod: KubeJson, taint: Json): boolean {
  return toleration(pod, taint) !== undefined;
}

/** Milliseconds that a Pod stays on a node with this taint; undefined for ever. */
export function staysMs(pod: KubeJson, taint: Json): number | undefined {
  const found = toleration(pod, taint);
  if (found === undefined) return 0;
  const seconds = found["tolerationSeconds"];
  return seconds === undefined ? undefined : Number(seconds) * 1_000;
}
