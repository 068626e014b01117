/** A destination of snapshots as a Pod of ours uses it: the place and the flags for `quorate snapshot`. */
import type { Destination } from "../../api/destination.ts";
import { folderURI } from "../../snapshot/place.ts";
import { accessParts, CLAIM_DIR, type AccessParts } from "./store-access.ts";

export interface StoreParts extends AccessParts {
  /** With a slash at its end. */
  readonly folder: string;
}

export function storeParts(destination: Destination, mode: number): StoreParts {
  const access = accessParts(destination, { mode, readOnly: false });
  const { pvc } = destination;
  return {
    ...access,
    folder: pvc ? folderURI({ file: { path: `${CLAIM_DIR}/${pvc.path ?? ""}` } }) : folderURI(destination),
    args: [...flagsOf(destination, access.caFile), ...access.args],
  };
}

function flagsOf({ s3, gcs, azure }: Destination, caFile: string | undefined): string[] {
  const flag = (name: string, value: string | undefined) => (value === undefined ? [] : [`--${name}`, value]);
  if (s3) {
    const { endpoint, region, pathStyle, sse, kmsKey } = s3;
    return [
      ...flag("s3-endpoint", endpoint),
      ...flag("s3-region", region),
      ...(pathStyle === undefined ? [] : [pathStyle ? "--s3-path-style" : "--s3-virtual-host"]),
      ...flag("s3-ca-file", caFile),
      ...flag("s3-sse", sse),
      ...flag("s3-kms-key", kmsKey),
    ];
  }
  if (gcs)
    return [
      ...flag("gcs-endpoint", gcs.endpoint),
      ...flag("gcs-ca-file", caFile),
      ...flag("gcs-kms-key", gcs.kmsKey),
    ];
  return [
    ...flag("azure-account", azure?.account),
    ...flag("azure-endpoint", azure?.endpoint),
    ...flag("azure-ca-file", caFile),
    ...flag("azure-encryption-scope", azure?.encryptionScope),
  ];
}
