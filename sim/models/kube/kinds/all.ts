/** Every kind that the model API server knows, by the path it is served under. */
import type { Kind } from "../kind.ts";
import { certificates } from "./certificate.ts";
import { claims } from "./claim.ts";
import { jobs } from "./job.ts";
import { ours } from "./ours.ts";
import { pods } from "./pod.ts";
import { services } from "./service.ts";
import {
  budgets,
  configMaps,
  events,
  leases,
  namespaces,
  networkPolicies,
  nodes,
  secrets,
  serviceAccounts,
  storageClasses,
  volumes,
} from "./simple.ts";

export const kinds: readonly Kind[] = [
  configMaps,
  secrets,
  services,
  pods,
  claims,
  volumes,
  nodes,
  namespaces,
  serviceAccounts,
  budgets,
  networkPolicies,
  leases,
  events,
  storageClasses,
  certificates,
  jobs,
  ...ours,
];

const byPath = new Map(kinds.map((kind) => [`${kind.group}/${kind.version}/${kind.plural}`, kind]));
const byType = new Map(kinds.map((kind) => [`${kind.apiVersion} ${kind.kind}`, kind]));

export function kindAt(group: string, version: string, plural: string): Kind | undefined {
  return byPath.get(`${group}/${version}/${plural}`);
}

/** What an owner reference names. */
export function kindNamed(apiVersion: string, kind: string): Kind | undefined {
  return byType.get(`${apiVersion} ${kind}`);
}
