/**
 * Who may connect to members, as Kubernetes' NetworkPolicies name it. What members and Quorate itself need is not
 * written here: it is always let in.
 */
import { z } from "zod";
import { isCIDR } from "./addresses.ts";
import { labelSelectorSchema } from "./affinity.ts";
import { withRules, type Rule } from "./rule.ts";
import { text } from "./scalars.ts";

const MOST_PEERS = 16;

const range: Rule<string> = {
  cel: "isCIDR(self)",
  message: "must be an address range in CIDR notation, like 192.0.2.0/24 or 2001:db8::/32",
  check: isCIDR,
};

const cidr = () => withRules(text(43), range);

const peerFields = z.strictObject({
  podSelector: labelSelectorSchema
    .optional()
    .describe("Pods, of the cluster's namespace unless namespaceSelector is given. Empty: all."),
  namespaceSelector: labelSelectorSchema
    .optional()
    .describe("Namespaces, for example by their label kubernetes.io/metadata.name. Empty: all."),
  ipBlock: z
    .strictObject({
      cidr: cidr().describe("Address range."),
      except: z.array(cidr()).max(MOST_PEERS).optional().describe("CIDR ranges to exclude."),
    })
    .optional()
    .describe("Addresses outside the Kubernetes cluster."),
});

type Peer = z.output<typeof peerFields>;

const addressesOrPods: Rule<Peer> = {
  cel: "has(self.ipBlock) ? !has(self.podSelector) && !has(self.namespaceSelector) : has(self.podSelector) || has(self.namespaceSelector)",
  message:
    "needs either ipBlock, or podSelector, namespaceSelector or both: use one entry of the list for addresses and another for Pods",
  check: ({ ipBlock, podSelector, namespaceSelector }) =>
    (ipBlock !== undefined) !== (podSelector !== undefined || namespaceSelector !== undefined),
};

const peers = () => z.array(withRules(peerFields, addressesOrPods)).max(MOST_PEERS);

const fields = z.strictObject({
  enabled: z
    .boolean()
    .describe(
      "Whether to create a NetworkPolicy for the members' Pods. It takes effect where the network of the Kubernetes cluster enforces such policies.",
    ),
  clients: peers()
    .optional()
    .describe(
      "Who may connect to the client port, beside the members, the operator and snapshots of this cluster, as in a NetworkPolicy. Required when the policy is enabled, because all others are cut off from then on; [] for none.",
    ),
  metrics: peers()
    .optional()
    .describe(
      "Who may connect to the metrics port, beside the operator and the kubelets, as in a NetworkPolicy. No others by default.",
    ),
});

/** An empty list of a NetworkPolicy means everybody, and ours nobody: so it has to be written. */
const clientsAreDecided: Rule<z.output<typeof fields>> = {
  cel: "!self.enabled || has(self.clients)",
  fieldPath: ".clients",
  message:
    "decide who may still connect once the policy is there: list the Pods and addresses of clients in clients, [] for none",
  check: ({ enabled, clients }) => !enabled || clients !== undefined,
};

export const networkPolicySchema = withRules(fields, clientsAreDecided);

export type NetworkPolicyWish = z.output<typeof networkPolicySchema>;
