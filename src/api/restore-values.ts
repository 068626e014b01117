/** What follows from the fields of a restore: how far the revision is raised, and how its source is told. */

/** More than any cluster writes between a snapshot and its restore; the value of etcd's own documentation. */
export const AUTO_BUMP = 1_000_000_000;

/** How many revisions to add; 0 for none. */
export function bumpOf({
  revisionBump = "Auto",
}: {
  readonly revisionBump?: string | number | undefined;
}): number {
  if (revisionBump === "Auto") return AUTO_BUMP;
  return revisionBump === "None" ? 0 : Number(revisionBump);
}

interface Source {
  readonly s3?: { readonly bucket: string; readonly key: string } | undefined;
  readonly gcs?: { readonly bucket: string; readonly key: string } | undefined;
  readonly azure?: { readonly container: string; readonly key: string } | undefined;
  readonly pvc?: { readonly claimName: string; readonly path: string } | undefined;
  readonly file?: { readonly path: string } | undefined;
}

/** A source as people are told of it. */
export function sourceText({ s3, gcs, azure, pvc, file }: Source): string {
  if (s3) return `s3://${s3.bucket}/${s3.key}`;
  if (gcs) return `gs://${gcs.bucket}/${gcs.key}`;
  if (azure) return `azblob://${azure.container}/${azure.key}`;
  return pvc ? `pvc://${pvc.claimName}/${pvc.path}` : (file?.path ?? "");
}
