/**
 * Where a person says that a snapshot is: `s3://bucket/prefix/`, `file:///backups/`, or a path. A slash at the end (or
 * a directory that exists) means a folder; anything else names one object.
 */
import path from "node:path";
import { fileURLToPath } from "node:url";
import type { Clock } from "../seams/clock.ts";
import type { Disk } from "../seams/disk.ts";
import type { Random } from "../seams/random.ts";
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
  readonly disk: Disk;
  readonly s3: S3Settings;
}

/** `folder`: a path without a slash at its end is a folder too, as for a listing. */
export async function openLocation(
  text: string,
  context: LocationContext,
  { folder = false }: { folder?: boolean } = {},
): Promise<Location> {
  const scheme = /^([a-z][a-z0-9+.-]+):/i.exec(text)?.[1]?.toLowerCase();
  if (scheme === "s3") return await openS3(text, context, folder);
  if (scheme !== undefined && scheme !== "file")
    throw new StoreError(
      "invalid",
      `${text}: snapshots are kept in s3://bucket/prefix/ or file:///directory/, not in ${scheme}://`,
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

async function openS3(text: string, context: LocationContext, folder: boolean): Promise<Location> {
  const [, bucket = "", key = ""] = /^s3:\/\/([^/]*)\/?(.*)$/i.exec(text) ?? [];
  if (!/^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$/.test(bucket))
    throw new StoreError("invalid", `${text} does not name a bucket: use s3://bucket/prefix/`);
  const slash = key.lastIndexOf("/") + 1;
  const isFolder = folder || slash === key.length;
  const prefix = isFolder ? (key === "" || key.endsWith("/") ? key : `${key}/`) : key.slice(0, slash);
  const { openS3Store } = await import("./store/s3/s3.ts");
  return { store: openS3Store({ bucket, prefix, ...context }), name: isFolder ? "" : key.slice(slash) };
}
