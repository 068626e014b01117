/** What follows from the fields of a restore: how far the revision is raised, and how its source or folder is told. */

/** More than any cluster writes between a snapshot and its restore; the value of etcd's own documentation. */
export const AUTO_BUMP = 1_000_000_000;

/** No etcd writes more than this, 100,000 a second, on the average of the time between two restores. */
const REVISIONS_PER_MS = 100;
const SINCE = Date.UTC(2025, 0, 1);
/** What `revisionBump` may be at most: reached after three hundred years, or by a clock that is wrong. */
const HIGHEST = 999_999_999_999_999;

/**
 * The revision that a restore at this time reaches at least. It grows faster than any cluster writes, and every life of a
 * cluster begins at it: so a later life is above all that an earlier one came to, also where nothing is left of that one
 * but watchers, and also after a restore of the same or of an older snapshot. It is no sum: restores of restores do not
 * add up, and numbers stay exact.
 */
export function revisionFloor(now: number): number {
  return Math.min(Math.max(0, Math.floor(now - SINCE) * REVISIONS_PER_MS), HIGHEST);
}

interface Bump {
  readonly revisionBump?: string | number | undefined;
  readonly raiseTo?: number | undefined;
  readonly revision?: number | undefined;
}

/** How many revisions to add; 0 for none. A snapshot whose revision is not known counts as one of an empty cluster. */
export function bumpOf({ revisionBump = "Auto", raiseTo = 0, revision = 0 }: Bump): number {
  if (revisionBump === "Auto") return Math.max(AUTO_BUMP, raiseTo - revision);
  return revisionBump === "None" ? 0 : Number(revisionBump);
}

/** Settled once, since a restore that is tried again must come to the same. */
export function settleBump<R extends Bump>(recipe: R, now: number): R {
  const { revisionBump = "Auto" } = recipe;
  return revisionBump === "Auto" ? { ...recipe, raiseTo: revisionFloor(now) } : recipe;
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

interface Folder {
  readonly s3?: { readonly bucket: string; readonly prefix?: string | undefined } | undefined;
  readonly gcs?: { readonly bucket: string; readonly prefix?: string | undefined } | undefined;
  readonly azure?: { readonly container: string; readonly prefix?: string | undefined } | undefined;
  readonly pvc?: { readonly claimName: string; readonly path?: string | undefined } | undefined;
  readonly file?: { readonly path: string } | undefined;
}

/** A folder as people are told of it, with a slash at its end. */
export function folderText({ s3, gcs, azure, pvc, file }: Folder): string {
  if (s3) return `s3://${s3.bucket}/${withSlash(s3.prefix)}`;
  if (gcs) return `gs://${gcs.bucket}/${withSlash(gcs.prefix)}`;
  if (azure) return `azblob://${azure.container}/${withSlash(azure.prefix)}`;
  return pvc ? `pvc://${pvc.claimName}/${withSlash(pvc.path)}` : withSlash(file?.path ?? "/");
}

export function withSlash(path = ""): string {
  return path === "" || path.endsWith("/") ? path : `${path}/`;
}
