/**
 * Why a member leaves or is replaced, as its record keeps it for people, and why its data stays. The text is read by
 * nobody but them: what the rules go by are the fields beside it.
 */
import { dateTime } from "./words.ts";

export const CAUSES = {
  abandonedBoot: "its bootstrap was abandoned",
  recovered: "the cluster was recovered from the data of one member",
  restored: "a snapshot was restored in place",
  deletedByHand: "its record was deleted",
  notListed: "etcd no longer lists it",
  volumeGone: "its volume is gone",
  volumeReplaced: "its volume was replaced by another",
  dataMissing: "it lost its data",
  dataCorrupt: "its data is corrupt",
  removedFromEtcd: "etcd has removed it",
  differsFromPeer: "its data differs from that of a peer",
  differsFromVoters: "its data differs from that of the other voters",
  startedForNewCluster: "it was started to bootstrap a cluster that already exists",
  approved: "its replacement was approved",
  corruptLearner: "etcd found its data corrupt",
  maybeCorruptLearner: "its data may differ from that of the voters",
  learnerFragmented: "etcd cannot defragment learners",
  otherVolumeAsked: "the spec now asks for another volume",
  restartLosesData: "it cannot change without a restart, which would lose its data",
  retired: "it was to be replaced",
  replacementRequested: "its replacement was requested",
  forgot: (evidence: string) => `it came back without its data (${evidence})`,
  volumeUnreachable: (why: string) => `its volume cannot be reached: ${why}`,
  downSince: (at: number) => `it has been down since ${dateTime(at)}`,
  differsAtRevision: (revision: number) => `its data differs from the majority at revision ${revision}`,
  notDeletedWithin: (minutes: number, why: string | undefined) =>
    `it could not be deleted within ${minutes} min${why === undefined ? "" : ` (${why})`}`,
  fewerWanted: (field: "replicas" | "learners", wanted: number) => `spec.${field} is ${wanted}`,
} as const;
