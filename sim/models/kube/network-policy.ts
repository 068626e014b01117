/**
 * What a network that enforces NetworkPolicies lets through, by their own rules: a Pod that no policy selects takes
 * every connection, one that some select takes what any of them allows. Ingress, ports by number, and Pods only:
 * kubelets of the same node are always let in, and addresses outside are not modelled.
 */
import { items, json, type Json } from "./object.ts";

export interface Place {
  readonly namespace: string;
  readonly labels: Readonly<Record<string, string>>;
}

/** Whether `from` may connect to this port of `to`. */
export function admits(policies: readonly object[], to: Place, from: Place, port: number): boolean {
  const about = policies.map((one) => json(one)).filter((policy) => selects(policy, to));
  return about.length === 0 || about.some((policy) => allows(policy, to, from, port));
}

function selects(policy: Json, { namespace, labels }: Place): boolean {
  const { podSelector, policyTypes } = json(policy["spec"]);
  const isIngress = policyTypes === undefined || has(policyTypes, "Ingress");
  return isIngress && json(policy["metadata"])["namespace"] === namespace && matches(podSelector, labels);
}

function allows(policy: Json, { namespace }: Place, from: Place, port: number): boolean {
  return items(json(policy["spec"])["ingress"])
    .map(json)
    .some(({ ports, from: peers }) => {
      const open = ports === undefined || items(ports).some((one) => json(one)["port"] === port);
      const isEverybody = peers === undefined || items(peers).length === 0;
      return open && (isEverybody || items(peers).some((peer) => isMeant(json(peer), namespace, from)));
    });
}

function isMeant({ podSelector, namespaceSelector }: Json, own: string, from: Place): boolean {
  if (podSelector === undefined && namespaceSelector === undefined) return false;
  const isThere =
    namespaceSelector === undefined
      ? from.namespace === own
      : matches(namespaceSelector, { "kubernetes.io/metadata.name": from.namespace });
  return isThere && (podSelector === undefined || matches(podSelector, from.labels));
}

function matches(selector: unknown, labels: Readonly<Record<string, string>>): boolean {
  const { matchLabels, matchExpressions } = json(selector ?? {});
  const fits = Object.entries(json(matchLabels ?? {})).every(([key, value]) => labels[key] === value);
  return fits && items(matchExpressions).every((one) => meets(json(one), labels));
}

const has = (list: unknown, text: string) => Array.isArray(list) && list.includes(text);

function meets({ key, operator, values }: Json, labels: Readonly<Record<string, string>>): boolean {
  const value = labels[String(key)];
  switch (operator) {
    case "In":
      return value !== undefined && has(values, value);
    case "NotIn":
      return value === undefined || !has(values, value);
    case "Exists":
      return value !== undefined;
    default:
      return value === undefined;
  }
}
