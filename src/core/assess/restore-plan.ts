/**
 * The plan of a restore in place: which snapshot replaces the data of which life of which cluster, and which etcd runs on it.
 * Its hash is what a person approves. A cluster that was restored or recovered has another ID, so an approval is good for once.
 */
import type { RestoreRecipe } from "../../api/bootstrap.ts";
import type { EtcdSnapshotSpec } from "../../api/etcd-snapshot.ts";
import { folderText, sourceText } from "../../api/restore-values.ts";
import { RESTORED } from "../messages/restore-words.ts";
import { canonical, shortHash } from "../template/hash.ts";
import type { View } from "../view.ts";

/** The cluster as it lives now. */
interface PlannedFor {
  readonly uid: string;
  readonly clusterID: string | undefined;
  readonly version: string;
  /** A plan that is good only if these nodes are off is another one. */
  readonly nodesOff?: readonly string[];
}

export function plannedFor(
  { spec, observation: { cluster } }: View,
  nodesOff?: readonly string[],
): PlannedFor {
  const clusterID = cluster.marks.established?.clusterID;
  return { uid: cluster.uid, clusterID, version: spec.version, ...givenNodes(nodesOff) };
}

export function givenNodes(nodesOff: readonly string[] = []): Pick<PlannedFor, "nodesOff"> {
  return nodesOff.length > 0 ? { nodesOff: nodesOff.toSorted() } : {};
}

export type PlannedRestore = Pick<RestoreRecipe, "snapshot" | "source" | "checksum" | "encryption">;

/** Of an EtcdSnapshot its name counts and also what it says: one that was made again under the name is another one. */
export function restorePlan(
  cluster: PlannedFor,
  { snapshot, source, checksum, encryption }: PlannedRestore,
): string {
  return shortHash(canonical({ ...cluster, snapshot, source, checksum, encryption }));
}

/** As people are told of it. */
export function plannedText({ snapshot, source }: PlannedRestore): string {
  const place = sourceText(source);
  return snapshot === undefined ? place : RESTORED.snapshotAt(snapshot, place);
}

export type PlannedPoint = Pick<EtcdSnapshotSpec, "destination" | "pointInTime" | "encryption">;

/** Of a point in time: it is built once this is approved, from what was recorded in just this folder. */
export function pointPlan(
  cluster: PlannedFor,
  { destination, pointInTime, encryption }: PlannedPoint,
): string {
  return shortHash(canonical({ ...cluster, destination, pointInTime, encryption }));
}

export function pointText({ pointInTime, destination }: PlannedPoint): string {
  return RESTORED.pointIn(folderText(destination), pointInTime ?? {});
}
