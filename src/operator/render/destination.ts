/** A destination of snapshots as a Pod of ours uses it: the place and the flags for `quorate snapshot`. */
import type { Destination } from "../../api/destination.ts";
import { folderURI, storeFlags } from "../../snapshot/place.ts";
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
    args: [...storeFlags(destination, access.caFile), ...access.args],
  };
}
