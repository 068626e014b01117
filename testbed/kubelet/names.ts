/**
 * Names of the cluster, from Services and Pods: what a cluster's DNS would answer. Nothing else resolves, and
 * no question leaves the machine. Services have no addresses that route here, so their names give their Pods.
 */
import type { Pod, Service } from "kubernetes-types/core/v1.d.ts";

export interface NamedPod {
  pod: Pod;
  ip: string;
  ready: boolean;
}

/** Every name and its addresses. Built anew for each question: there are few, and nothing can be stale. */
export function clusterNames(services: Iterable<Service>, pods: NamedPod[]): Map<string, string[]> {
  const names = new Map<string, string[]>();
  for (const service of services) {
    const { name, namespace } = service.metadata ?? {};
    const { selector, publishNotReadyAddresses } = service.spec ?? {};
    if (!selector || Object.keys(selector).length === 0) continue;
    const base = `${name}.${namespace}.svc.cluster.local`;
    for (const { pod, ip, ready } of pods) {
      if (pod.metadata?.namespace !== namespace || !matches(selector, pod)) continue;
      const gone = ["Succeeded", "Failed"].includes(pod.status?.phase ?? "");
      const serving = ready && !pod.metadata?.deletionTimestamp;
      if (gone || !(serving || publishNotReadyAddresses)) continue;
      add(names, base, ip);
      if (pod.spec?.subdomain === name && pod.spec?.hostname) add(names, `${pod.spec.hostname}.${base}`, ip);
    }
  }
  return names;
}

function add(names: Map<string, string[]>, name: string, ip: string): void {
  const list = names.get(name);
  if (list) list.push(ip);
  else names.set(name, [ip]);
}

function matches(selector: Record<string, string>, pod: Pod): boolean {
  return Object.entries(selector).every(([key, value]) => pod.metadata?.labels?.[key] === value);
}

/** Lines for /etc/hosts, where there is no name server: the full name and the ones people write. */
export function hostLines(names: Map<string, string[]>): string[] {
  return [...names].flatMap(([name, ips]) => {
    const svc = name.replace(/\.cluster\.local$/, "");
    return ips.map((ip) => `${ip} ${name} ${svc} ${svc.replace(/\.svc$/, "")}`);
  });
}
