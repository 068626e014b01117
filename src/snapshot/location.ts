/**
 * Where a person says that a snapshot is: `s3://bucket/prefix/`, `gs://bucket/prefix/`, `azblob://container/prefix/`,
 * `file:///backups/`, or a path. A slash at the end (or
 * a directory that exists) means a folder; anything else names one object.
 */
import path from "node:path";
import { fileURLToPath } from "node:url";
import type { Clock } from "../seams/clock.ts";
import type { Disk } from "../seams/disk.ts";
import type { Random } from "../seams/random.ts";
import type { AzureSettings } from "./store/azure/settings.ts";
import type { GcsSettings } from "./store/gcs/client.ts";
import type { S3Settings } from "./store/s3/settings.ts";
import { StoreError, type Store } from "./store/store.ts";

export interface Location {
  readonly store: Store;
  /** The object in the store; empty for a folder. */
  readonly name: string;
}

export interface LocationContext {
  readonly cwd: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly clock: Clock;
  readonly random: Random;
  /** Longest silence of a store that is asked by HTTP. */
  readonly idleMs?: number | undefined;
  readonly disk: Disk;
  readonly s3: S3Settings;
  readonly gcs?: GcsSettings;
  readonly azure?: AzureSettings;
}

/** `folder`: a path without a slash at its end is a folder too, as for a listing. */
export async function openLocation(
  text: string,
  context: LocationContext,
  { folder = false }: { folder?: boolean } = {},
): Promise<Location> {
  const scheme = /^([a-z][a-z0-9+.-]+):/i.exec(text)?.[1]?.toLowerCase();
  const open = SCHEMES[scheme ?? ""];
  if (open !== undefined) return await openBucket(text, open, context, folder);
  if (scheme !== undefined && scheme !== "file")
    throw new StoreError(
      "invalid",
      `${text}: snapshots are kept in s3://bucket/prefix/, gs://bucket/prefix/, azblob://container/prefix/ or file:///directory/, not in ${scheme}://`,
    );
  const given = scheme === "file" ? pathOfUrl(text) : text;
  if (given === "" || given.includes("\0"))
    throw new StoreError("invalid", `${JSON.stringify(text)} is not a path`);
  const absolute = path.resolve(context.cwd, given);
  const { FileStore } = await import("./store/file.ts");
  const isFolder =
    folder || /[/\\]$/.test(given) || (await context.disk.stat(absolute))?.kind === "directory";
  return isFolder
    ? { store: new FileStore(absolute, context.random), name: "" }
    : { store: new FileStore(path.dirname(absolute), context.random), name: path.basename(absolute) };
}

function pathOfUrl(text: string): string {
  try {
    const url = new URL(text);
    if (url.search !== "" || url.hash !== "") throw new TypeError("it has a query or a fragment");
    return fileURLToPath(url);
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    throw new StoreError("invalid", `${text} is not the URL of a file (${why}): use file:///absolute/path`, {
      cause: error,
    });
  }
}

type Open = (bucket: string, prefix: string, context: LocationContext) => Promise<Store>;

/** Each is loaded when it is used. */
const SCHEMES: Readonly<Record<string, Open>> = {
  s3: async (bucket, prefix, context) =>
    (await import("./store/s3/s3.ts")).openS3Store({ ...context, bucket, prefix }),
  gs: async (bucket, prefix, context) =>
    (await import("./store/gcs/gcs.ts")).openGcsStore({ ...context, gcs: context.gcs ?? {}, bucket, prefix }),
  azblob: async (container, prefix, context) =>
    (await import("./store/azure/azure.ts")).openAzureStore({
      ...context,
      azure: context.azure ?? {},
      container,
      prefix,
    }),
};

async function openBucket(
  text: string,
  open: Open,
  context: LocationContext,
  folder: boolean,
): Promise<Location> {
  const [, scheme = "", bucket = "", key = ""] = /^([a-z0-9]+):\/\/([^/]*)\/?(.*)$/i.exec(text) ?? [];
  if (!/^[a-z0-9][a-z0-9._-]{1,61}[a-z0-9]$/.test(bucket))
    throw new StoreError(
      "invalid",
      `${text} does not name a bucket: use ${scheme === "" ? "s3" : scheme.toLowerCase()}://bucket/prefix/`,
    );
  const slash = key.lastIndexOf("/") + 1;
  const isFolder = folder || slash === key.length;
  const prefix = isFolder ? (key === "" || key.endsWith("/") ? key : `${key}/`) : key.slice(0, slash);
  return { store: await open(bucket, prefix, context), name: isFolder ? "" : key.slice(slash) };
}
