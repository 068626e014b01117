/** Why nothing can be done for an object that names a cluster: the same for every kind that does, in its own words. */
interface Words {
  /** `operation`. */
  readonly thing: string;
  /** `another operation`. */
  readonly another: string;
  /** What cannot be done with an invalid cluster. */
  readonly undone: string;
  readonly deleted: string;
}

export function clusterReasons({ thing, another, undone, deleted }: Words) {
  return {
    ClusterNotFound: {
      phases: ["Pending", "Rejected"],
      meaning: `No EtcdCluster of the name exists in the namespace. The ${thing} waits ten minutes for it, then it is rejected.`,
      remedy: `Check \`spec.cluster\`; create the cluster, or ${another} with the right name.`,
    },
    ClusterInvalid: {
      phases: ["Pending", "Running"],
      meaning: `The cluster is invalid and has no members, so ${undone}.`,
      remedy: `Correct the EtcdCluster; the ${thing} then continues.`,
    },
    ClusterDeleted: { phases: ["Rejected", "Failed"], meaning: deleted, remedy: "Nothing." },
  } as const;
}
