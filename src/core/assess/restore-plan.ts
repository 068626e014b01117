/**
 * The plan of a restore in place: which snapshot replaces the data of which life of which cluster, and which etcd runs on it.
 * Its hash is what a person approves. A cluster that was restored or recovered has another ID, so an approval is good for once.
 */
import type { EtcdOperationSpec } from "../../api/etcd-operation.ts";
import { canonical, shortHash } from "../hash.ts";

export function restorePlan(
  cluster: { readonly uid: string; readonly clusterID: string | undefined; readonly version: string },
  { source, checksum }: NonNullable<EtcdOperationSpec["restore"]>,
): string {
  return shortHash(canonical({ ...cluster, source, checksum }));
}
