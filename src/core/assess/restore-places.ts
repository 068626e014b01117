/** Which places a platform cannot restore from, and why: Pods read no files of a machine, and a machine has no Secrets. */
import type { RestoreRecipe, RestoreSource } from "../../api/bootstrap.ts";

export function notOnPods(place: { readonly file?: unknown } | undefined): string | undefined {
  if (place?.file === undefined) return undefined;
  return "Pods cannot read a file of this machine: use s3, gcs or azure, or pvc for a volume";
}

export function notOnMachine({
  source,
  encryption,
}: Pick<RestoreRecipe, "source" | "encryption">): string | undefined {
  if (source.pvc)
    return "there are no PersistentVolumeClaims on this platform: name the snapshot in s3, gcs, azure or file";
  const secret = encryption ? "encryption.keySecret" : secretIn(source);
  if (secret === undefined) return undefined;
  return `restore.${secret}: there are no Secrets on this platform: leave it out, because credentials, keys and CA certificates come from the environment of the controller`;
}

function secretIn({ s3, gcs, azure }: RestoreSource): string | undefined {
  for (const [store, given] of Object.entries({ s3, gcs, azure })) {
    if (given?.credentialsSecret !== undefined) return `source.${store}.credentialsSecret`;
    if (given?.caSecret !== undefined) return `source.${store}.caSecret`;
  }
  return undefined;
}
