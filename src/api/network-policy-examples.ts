/** Good and bad specs for the rules about NetworkPolicies; part of the list in examples.ts. */
import type { Change, Example } from "./example.ts";

const policy = (networkPolicy: Record<string, unknown>): Change => ({ spec: { networkPolicy } });
const clients = (...peers: Record<string, unknown>[]): Change => policy({ enabled: true, clients: peers });
const pods = { podSelector: { matchLabels: { app: "shop" } } };

export const networkPolicyExamples: readonly Example[] = [
  {
    title: "a policy that does not state who may still connect",
    path: "spec.networkPolicy.clients",
    bad: policy({ enabled: true }),
    good: policy({ enabled: true, clients: [] }),
  },
  {
    title: "a peer that names no source",
    path: "spec.networkPolicy.clients[0]",
    bad: clients({}),
    good: clients({ podSelector: {} }),
  },
  {
    title: "addresses and Pods in one peer",
    path: "spec.networkPolicy.clients[0]",
    bad: clients({ ...pods, ipBlock: { cidr: "192.0.2.0/24" } }),
    good: clients(pods, { ipBlock: { cidr: "192.0.2.0/24", except: ["192.0.2.128/25"] } }),
  },
  {
    title: "an address that is no range",
    path: "spec.networkPolicy.metrics[0].ipBlock.cidr",
    bad: policy({ enabled: true, clients: [], metrics: [{ ipBlock: { cidr: "192.0.2.1" } }] }),
    good: policy({ enabled: true, clients: [], metrics: [{ ipBlock: { cidr: "192.0.2.1/32" } }] }),
  },
];
