/**
 * The PodDisruptionBudget: node drains never take the voters below quorum. While a cluster is made smaller
 * or larger the greater of the two sizes counts.
 */
import type { PodDisruptionBudget } from "kubernetes-types/policy/v1.d.ts";
import { quorum } from "../../core/quorum.ts";
import type { View } from "../../core/view.ts";
import { budgetName } from "../names.ts";
import { annotationsOf, clusterLabels, ownedByCluster, voterSelector } from "./metadata.ts";

export function disruptionBudget(view: View, life?: number): PodDisruptionBudget | undefined {
  const { cluster, etcd } = view.observation;
  if (!cluster.spec.disruptionBudget.enabled) return undefined;
  // Without an answer from etcd the records tell: they never know of fewer voters than there are.
  const recorded = view.members.filter(({ record }) => record.role === "Voter").length;
  const voters = etcd.list ? view.voters : recorded;
  return {
    apiVersion: "policy/v1",
    kind: "PodDisruptionBudget",
    metadata: {
      name: budgetName(cluster.name),
      namespace: cluster.namespace,
      labels: clusterLabels(cluster),
      ...annotationsOf(cluster),
      ownerReferences: [ownedByCluster(cluster)],
    },
    spec: {
      minAvailable: quorum(Math.max(voters, cluster.spec.replicas)),
      selector: voterSelector(cluster, life),
      // A Pod that is not ready may still vote: it may go only while enough others are ready (H14).
      unhealthyPodEvictionPolicy: "IfHealthyBudget",
    },
  };
}
