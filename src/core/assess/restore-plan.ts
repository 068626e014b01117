/**
 * The plan of a restore in place: which snapshot replaces the data of which life of which cluster, and which etcd runs on it.
 * Its hash is what a person approves. A cluster that was restored or recovered has another ID, so an approval is good for once.
 */
import type { RestoreRecipe } from "../../api/bootstrap.ts";
import { sourceText } from "../../api/restore-values.ts";
import { canonical, shortHash } from "../hash.ts";

export type PlannedRestore = Pick<RestoreRecipe, "snapshot" | "source" | "checksum" | "encryption">;

/** Of an EtcdSnapshot its name counts and also what it says: one that was made again under the name is another one. */
export function restorePlan(
  cluster: { readonly uid: string; readonly clusterID: string | undefined; readonly version: string },
  { snapshot, source, checksum, encryption }: PlannedRestore,
): string {
  return shortHash(canonical({ ...cluster, snapshot, source, checksum, encryption }));
}

/** As people are told of it. */
export function plannedText({ snapshot, source }: PlannedRestore): string {
  return snapshot === undefined ? sourceText(source) : `EtcdSnapshot ${snapshot} (${sourceText(source)})`;
}
