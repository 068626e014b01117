/** Where a Pod may go and where it would rather go: the scheduler's filters and scores, as far as our Pods use them. */
import { taints, tolerates } from "./taints.ts";
import { items, json, type Json, type KubeJson } from "../object.ts";
import { selectsLabels } from "../workload.ts";

export interface Scene {
  readonly nodes: readonly KubeJson[];
  /** Those that have a node and have not ended. */
  readonly placed: readonly KubeJson[];
}

export function nodeOf(pod: KubeJson): string | undefined {
  return json(pod["spec"])["nodeName"] as string | undefined;
}

const HOSTNAME = "kubernetes.io/hostname";

function topology(node: KubeJson, key: string): string | undefined {
  return key === HOSTNAME ? node.metadata.name : node.metadata.labels?.[key];
}

/** A node that takes no new Pods has this taint, whether or not it was written there yet. */
const CORDONED = { key: "node.kubernetes.io/unschedulable", effect: "NoSchedule" };

/** Why not; undefined when it may go there. */
export function obstacle(pod: KubeJson, node: KubeJson, scene: Scene): string | undefined {
  const spec = json(pod["spec"]);
  if (json(node["spec"])["unschedulable"] === true && !tolerates(pod, CORDONED)) return "were unschedulable";
  const taint = taints(node).find((one) => one["effect"] !== "PreferNoSchedule" && !tolerates(pod, one));
  if (taint) return `had untolerated taint {${String(taint["key"])}: ${String(taint["value"] ?? "")}}`;
  const wanted = Object.entries(json(spec["nodeSelector"]));
  if (wanted.some(([key, value]) => node.metadata.labels?.[key] !== value))
    return "didn't match Pod's node affinity/selector";
  const near = json(json(spec["affinity"])["nodeAffinity"])["requiredDuringSchedulingIgnoredDuringExecution"];
  const terms = items(json(near)["nodeSelectorTerms"]);
  if (near !== undefined && !terms.some((term) => isNamed(node, term)))
    return "didn't match Pod's node affinity/selector";
  const apart = json(json(spec["affinity"])["podAntiAffinity"]);
  for (const term of items(apart["requiredDuringSchedulingIgnoredDuringExecution"]))
    if (neighbours(pod, node, term, scene).length > 0) return "didn't match pod anti-affinity rules";
  for (const constraint of items(spec["topologySpreadConstraints"]))
    if (constraint["whenUnsatisfiable"] === "DoNotSchedule" && skewed(pod, node, constraint, scene))
      return "didn't match pod topology spread constraints";
  return undefined;
}

/** Whether a term lets a Pod go there, as far as it goes by the names of nodes. */
function isNamed({ metadata }: KubeJson, term: Json): boolean {
  return items(term["matchFields"]).every(
    ({ key, operator, values }) =>
      key === "metadata.name" &&
      operator === "In" &&
      (values as readonly string[] | undefined)?.includes(metadata.name) === true,
  );
}

/** Pods that a term speaks of, in the same place as the node. */
function neighbours(
  pod: KubeJson,
  node: KubeJson,
  term: Json,
  { nodes, placed }: Scene,
): readonly KubeJson[] {
  const key = String(term["topologyKey"]);
  const place = topology(node, key);
  if (place === undefined) return [];
  const near = new Set(
    nodes.filter((one) => topology(one, key) === place).map(({ metadata }) => metadata.name),
  );
  return placed.filter(
    (other) =>
      other.metadata.uid !== pod.metadata.uid &&
      other.metadata.namespace === pod.metadata.namespace &&
      near.has(nodeOf(other) ?? "") &&
      selectsLabels(term["labelSelector"], other.metadata.labels),
  );
}

function skewed(pod: KubeJson, node: KubeJson, constraint: Json, scene: Scene): boolean {
  const key = String(constraint["topologyKey"]);
  const counts = new Map<string, number>();
  for (const one of scene.nodes) {
    const place = topology(one, key);
    if (place !== undefined) counts.set(place, neighbours(pod, one, constraint, scene).length);
  }
  const here = counts.get(topology(node, key) ?? "") ?? 0;
  return here + 1 - Math.min(...counts.values()) > Number(constraint["maxSkew"] ?? 1);
}

/** More is better: apart from its like, then where less runs. */
export function score(pod: KubeJson, node: KubeJson, scene: Scene): number {
  const spec = json(pod["spec"]);
  const apart = json(json(spec["affinity"])["podAntiAffinity"]);
  let points = 0;
  for (const { weight, podAffinityTerm } of items(apart["preferredDuringSchedulingIgnoredDuringExecution"]))
    points -= Number(weight) * 10 * neighbours(pod, node, json(podAffinityTerm), scene).length;
  for (const constraint of items(spec["topologySpreadConstraints"]))
    points -= 50 * neighbours(pod, node, constraint, scene).length;
  return points - scene.placed.filter((other) => nodeOf(other) === node.metadata.name).length;
}
