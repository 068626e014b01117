/**
 * The volumes of a member's Pod: its data, by medium, and its Secret. What is mounted where is in config.ts.
 */
import type { Volume } from "kubernetes-types/core/v1.d.ts";
import type { MemberRecord } from "../../core/record.ts";
import { claimName, memberSecretName, WHOLE } from "../names.ts";
import type { Identity } from "./metadata.ts";
import { canonicalQuantity } from "./quantity.ts";
import { podSecurity } from "./security.ts";

/** Whose data it is: a member that has a record, or one that is to get it back. */
export type DataOwner = Pick<MemberRecord, "name" | "uid" | "template">;

/** Sidecars may mount them by these names. */
export const VOLUMES = { data: "data", config: "config" } as const;

export function podVolumes(cluster: Identity, record: DataOwner, directory?: string): Volume[] {
  return [
    { name: VOLUMES.data, ...dataSource(cluster, record, directory) },
    {
      name: VOLUMES.config,
      secret: { secretName: memberSecretName(record.name), defaultMode: secretMode(record) },
    },
  ];
}

function dataSource(cluster: Identity, record: DataOwner, directory?: string): Omit<Volume, "name"> {
  const { medium, size } = record.template.storage;
  switch (medium) {
    case "Persistent":
      return { persistentVolumeClaim: { claimName: claimName(record.name) } };
    case "Memory":
      return { emptyDir: { medium: "Memory", sizeLimit: canonicalQuantity(size) } };
    case "Ephemeral":
      return { emptyDir: { sizeLimit: canonicalQuantity(size) } };
    case "HostPath":
      return { hostPath: { path: hostDirectory(cluster, record, directory), type: "DirectoryOrCreate" } };
  }
}

/**
 * Named by the record's UID, which no other member ever has: a directory is never used twice (I4). In front of it are
 * the cluster with its UID and the member, as `beginning` has them; an earlier operator recorded no beginning.
 */
export function hostDirectory(
  { namespace, name }: Pick<Identity, "namespace" | "name">,
  { uid, template }: Pick<DataOwner, "uid" | "template">,
  beginning: string | undefined,
): string {
  const below = (template.storage.hostPath ?? "").replace(/\/+$/, "");
  // One that was adopted has the directory of its former life.
  if (beginning?.startsWith(WHOLE)) return `${below}/${beginning.slice(WHOLE.length)}`;
  return beginning === undefined ? `${below}/${namespace}/${name}/${uid}` : `${below}/${beginning}.${uid}`;
}

/** The UID that a directory is named by: that of the record it was made for. */
export function directoryUID(directory: string): string {
  return directory.slice(Math.max(directory.lastIndexOf("/"), directory.lastIndexOf(".")) + 1);
}

/** Files of a Secret belong to root and to fsGroup; without one, etcd reads its key as one of the others. */
function secretMode({ template: { storage, pod } }: Pick<DataOwner, "template">): number {
  const { fsGroup, runAsUser } = podSecurity(storage.medium, pod.securityContext);
  return fsGroup !== undefined || runAsUser === 0 ? 0o440 : 0o444;
}
