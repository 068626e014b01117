/**
 * Why a member leaves or is replaced, as its record keeps it for people. The text is read by nobody but them: what the
 * rules go by are the fields beside it.
 */
import { dateTime } from "./words.ts";

export const CAUSES = {
  abandonedBoot: "its first boot was abandoned",
  deletedByHand: "its record was deleted by hand",
  notListed: "etcd does not list it any more",
  volumeGone: "its volume is gone",
  volumeReplaced: "its volume was replaced by another one",
  dataMissing: "its data is gone",
  dataCorrupt: "its data is corrupt",
  removedFromEtcd: "etcd has removed it",
  differsFromPeer: "its data differs from a peer's",
  differsFromVoters: "its data differs from the other voters'",
  startedForNewCluster: "it was started for a new cluster, but the cluster exists",
  templateFails: "its new template fails it",
  approved: "its replacement was approved",
  corruptLearner: "etcd found its data corrupt",
  learnerFragmented: "a learner cannot be defragmented",
  otherVolumeAsked: "the spec asks for another volume by now",
  restartLosesData: "it cannot change without a restart, which would lose its data",
  retired: "it is retired",
  forgot: (evidence: string) => `it came back without its data (${evidence})`,
  volumeUnreachable: (why: string) => `its volume cannot be reached: ${why}`,
  downSince: (at: number) => `it has been down since ${dateTime(at)}`,
  differsAtRevision: (revision: number) => `its data differs from the majority at revision ${revision}`,
  fewerWanted: (field: "replicas" | "learners", wanted: number) => `spec.${field} is ${wanted}`,
} as const;
