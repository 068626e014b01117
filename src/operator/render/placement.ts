/**
 * Where a member's Pod may run: as the user says; else rather not beside another member, on a node or in a zone.
 * A member whose data is on a node runs there and nowhere else.
 */
import type { Affinity, NodeSelectorTerm, PodSpec } from "kubernetes-types/core/v1.d.ts";
import type { MemberTemplate } from "../../core/record.ts";
import { selectorOf, type Identity } from "./metadata.ts";

type Given = Pick<MemberTemplate["pod"], "affinity" | "topologySpreadConstraints">;

export function placement(
  cluster: Identity,
  { affinity, topologySpreadConstraints }: Given,
  node?: string,
): Pick<PodSpec, "affinity" | "topologySpreadConstraints"> {
  const members = { matchLabels: selectorOf(cluster, "all") };
  const wanted = (affinity as Affinity | undefined) ?? apart(cluster);
  const spread = topologySpreadConstraints.map((one) => ({ labelSelector: members, ...one }));
  return {
    affinity: node === undefined ? wanted : pinned(wanted, node),
    ...(spread.length > 0 && { topologySpreadConstraints: spread }),
  };
}

/** A lost node costs more often than a lost zone, so that nodes weigh more. */
function apart(cluster: Identity): Affinity {
  const labelSelector = { matchLabels: selectorOf(cluster, "all") };
  const term = (weight: number, topologyKey: string) => ({
    weight,
    podAffinityTerm: { labelSelector, topologyKey },
  });
  return {
    podAntiAffinity: {
      preferredDuringSchedulingIgnoredDuringExecution: [
        term(100, "kubernetes.io/hostname"),
        term(50, "topology.kubernetes.io/zone"),
      ],
    },
  };
}

/** One of the terms has to match, so that each of them has to name the node. */
export function pinned(affinity: Affinity, node: string): Affinity {
  const { nodeAffinity } = affinity;
  const required = nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution;
  const here = { key: "metadata.name", operator: "In", values: [node] };
  const terms: NodeSelectorTerm[] = required?.nodeSelectorTerms ?? [{}];
  const nodeSelectorTerms = terms.map((term) => ({
    ...term,
    matchFields: [...(term.matchFields ?? []), here],
  }));
  return {
    ...affinity,
    nodeAffinity: { ...nodeAffinity, requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms } },
  };
}
