/** A snapshot, or a folder of them, that a person names by its URI or path, for a restore. */
import path from "node:path";
import { fileURLToPath } from "node:url";
import type { RestoreSource } from "../../api/bootstrap.ts";
import type { Destination } from "../../api/destination.ts";
import type { Flags, ValuesOf } from "../flag.ts";
import { UsageError } from "../io.ts";

/** They become part of the source, which the controller reads: it has its own environment. */
export const SOURCE_FLAGS = {
  endpoint: { kind: "text", value: "url", help: "endpoint of the store, if it is not the provider's own" },
  region: { kind: "text", value: "region", help: "s3://: region of the bucket" },
  account: { kind: "text", value: "name", help: "azblob://: storage account of the container" },
  "credentials-secret": {
    kind: "text",
    value: "name",
    help: "Kubernetes: Secret with the credentials of the store, in the namespace of the cluster",
  },
  "ca-secret": {
    kind: "text",
    value: "name",
    help: "Kubernetes: Secret with the CA certificates of the endpoint",
  },
} as const satisfies Flags;

const REACHED = ["endpoint", "credentials-secret", "ca-secret"] as const;

export function sourceOf(text: string, flags: ValuesOf<typeof SOURCE_FLAGS>, cwd: string): RestoreSource {
  const [, scheme = "", place = "", key = ""] = /^([a-z0-9]+):\/\/([^/]*)\/?(.*)$/.exec(text) ?? [];
  const { endpoint, region, account } = flags;
  const only = (taken: readonly (keyof typeof flags)[]) => {
    for (const name of Object.keys(SOURCE_FLAGS) as (keyof typeof SOURCE_FLAGS)[])
      if (flags[name] !== undefined && !taken.includes(name))
        throw new UsageError(`--${name} cannot be used with ${text}`);
  };
  if (scheme !== "" && scheme !== "file" && (place === "" || key === "" || key.endsWith("/")))
    throw new UsageError(`${text} names no snapshot: give ${scheme}://bucket/name.db`);
  const { "credentials-secret": credentialsSecret, "ca-secret": caSecret } = flags;
  const reached = {
    ...(endpoint !== undefined && { endpoint }),
    ...(credentialsSecret !== undefined && { credentialsSecret }),
    ...(caSecret !== undefined && { caSecret }),
  };
  switch (scheme) {
    case "s3":
      only([...REACHED, "region"]);
      return { s3: { bucket: place, key, ...reached, ...(region !== undefined && { region }) } };
    case "gs":
      only(REACHED);
      return { gcs: { bucket: place, key, ...reached } };
    case "azblob":
      only([...REACHED, "account"]);
      if (account === undefined) throw new UsageError(`${text} needs --account, the storage account`);
      return { azure: { account, container: place, key, ...reached } };
    case "pvc":
      only([]);
      return { pvc: { claimName: place, path: key } };
    case "file":
    case "":
      only([]);
      return { file: { path: scheme === "file" ? fileURLToPath(text) : path.resolve(cwd, text) } };
    default:
      throw new UsageError(
        `${text}: name a snapshot in s3://, gs:// or azblob://, pvc:// on Kubernetes, or a file`,
      );
  }
}

/** A folder is where an object in it would be. */
export function folderOf(text: string, flags: ValuesOf<typeof SOURCE_FLAGS>, cwd: string): Destination {
  const { s3, gcs, azure, pvc, file } = sourceOf(`${text.replace(/\/+$/, "")}/name`, flags, cwd);
  const prefixed = <T extends { readonly key: string }>({ key, ...reached }: T) => {
    const prefix = parentOf(key);
    return { ...reached, ...(prefix !== undefined && { prefix }) };
  };
  if (s3) return { s3: prefixed(s3) };
  if (gcs) return { gcs: prefixed(gcs) };
  if (azure) return { azure: prefixed(azure) };
  if (!pvc) return { file: { path: path.dirname(file?.path ?? "/") } };
  const folder = parentOf(pvc.path);
  return { pvc: { claimName: pvc.claimName, ...(folder !== undefined && { path: folder }) } };
}

function parentOf(name: string): string | undefined {
  const folder = path.posix.dirname(name);
  return folder === "." ? undefined : folder;
}
