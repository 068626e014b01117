/**
 * A place of a resource (a destination or a source) as the stores take it: its URI, and how it is reached. Credentials
 * are not part of it: they come from the environment and from files.
 */
import { fileURLToPath, pathToFileURL } from "node:url";
import type { RestoreSource } from "../api/bootstrap.ts";
import type { Destination } from "../api/destination.ts";
import { folderText, sourceText, withSlash } from "../api/restore-values.ts";
import type { StorePlace } from "../api/stores.ts";
import type { LocationContext } from "./location.ts";

export type StoreSettings = Pick<LocationContext, "s3" | "gcs" | "azure">;

/** Files that a Pod has mounted for the store. */
export interface StoreFiles {
  /** CA certificates of the endpoint. */
  readonly caFile?: string | undefined;
  /** With a file for each key of a Secret for Azure. */
  readonly credentialsDir?: string | undefined;
}

export function storeSettings(
  { s3, gcs, azure }: StorePlace,
  { caFile, credentialsDir }: StoreFiles = {},
): StoreSettings {
  return {
    s3: { endpoint: s3?.endpoint, region: s3?.region, pathStyle: s3?.pathStyle, caFile },
    gcs: { endpoint: gcs?.endpoint, caFile },
    azure: { account: azure?.account, endpoint: azure?.endpoint, caFile, credentialsDir },
  };
}

/** The object that is restored, as a person would write it. */
export function sourceURI(source: RestoreSource): string {
  return source.file ? pathToFileURL(source.file.path).href : sourceText(source);
}

/** The folder that is written to, with a slash at its end. */
export function folderURI(destination: Destination): string {
  const { file } = destination;
  return file ? withSlash(pathToFileURL(file.path).href) : folderText(destination);
}

/** How it is reached, as flags of `quorate snapshot`. */
export function storeFlags({ s3, gcs, azure }: Destination, caFile?: string): string[] {
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

/** The object of a destination whose URI this is, as the source of a restore; undefined for a URI of another place. */
export function sourceAt({ s3, gcs, azure, pvc, file }: Destination, uri: string): RestoreSource | undefined {
  if (s3) {
    const { prefix: _prefix, sse: _sse, kmsKey: _kmsKey, ...reached } = s3;
    return inside(uri, `s3://${s3.bucket}/`, (key) => ({ s3: { ...reached, key } }));
  }
  if (gcs) {
    const { prefix: _prefix, kmsKey: _kmsKey, ...reached } = gcs;
    return inside(uri, `gs://${gcs.bucket}/`, (key) => ({ gcs: { ...reached, key } }));
  }
  if (azure) {
    const { prefix: _prefix, encryptionScope: _scope, ...reached } = azure;
    return inside(uri, `azblob://${azure.container}/`, (key) => ({ azure: { ...reached, key } }));
  }
  if (pvc) {
    const { claimName } = pvc;
    return inside(uri, `pvc://${claimName}/`, (path) => ({ pvc: { claimName, path } }));
  }
  return file && inside(uri, "file:///", () => ({ file: { path: fileURLToPath(uri) } }));
}

function inside(
  uri: string,
  place: string,
  source: (name: string) => RestoreSource,
): RestoreSource | undefined {
  return uri.startsWith(place) && uri.length > place.length ? source(uri.slice(place.length)) : undefined;
}
