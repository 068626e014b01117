/** Which places a platform cannot restore from, and why: Pods read no files of a machine, and a machine has no Secrets. */
import type { RestoreRecipe, RestoreSource } from "../../api/bootstrap.ts";
import { PLACES } from "../messages/restore-words.ts";

export function notOnPods(place: { readonly file?: unknown } | undefined): string | undefined {
  if (place?.file === undefined) return undefined;
  return PLACES.fileOnPods;
}

export function notOnMachine({
  source,
  encryption,
}: Pick<RestoreRecipe, "source" | "encryption">): string | undefined {
  if (source.pvc) return PLACES.claimOnMachine;
  const secret = encryption ? "encryption.keySecret" : secretIn(source);
  return secret === undefined ? undefined : PLACES.secretOnMachine(secret);
}

function secretIn({ s3, gcs, azure }: RestoreSource): string | undefined {
  for (const [store, given] of Object.entries({ s3, gcs, azure })) {
    if (given?.credentialsSecret !== undefined) return `source.${store}.credentialsSecret`;
    if (given?.caSecret !== undefined) return `source.${store}.caSecret`;
  }
  return undefined;
}
