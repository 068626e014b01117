/**
 * The testbed's private network. It exists only in network namespaces without a link to the machine's own, so
 * several testbeds can use the same addresses, and no packet to them can leave the machine.
 */
/** No other network has a link of this name: by it a process knows that it is in the right one. */
export const BRIDGE = "quorate-bed";
/** The host of the nodes, as they see it: API server, name server, registry, and webhooks of tests. */
export const HOST = "10.77.0.1";
export const PODS = "10.244.0.0/16";
export const SERVICES = "10.96.0.0/16";
export const FIRST_SERVICE = "10.96.0.1";
export const DNS_SERVICE = "10.96.0.10";
export const REGISTRY_PORT = 5000;

export function nodeName(n: number): string {
  return `node-${n}`;
}

export function nodeAddress(n: number): string {
  return `10.77.0.${10 + n}`;
}

export function podRange(n: number): string {
  return `10.244.${n}.0/24`;
}

export function zone(n: number): string {
  return `zone-${"abc"[n - 1] ?? n}`;
}

/** The end of a node's cable in the world. */
export function cable(n: number): string {
  return `cable-${n}`;
}
