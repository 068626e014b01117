/**
 * List and watch: keeps a map of objects that follows the API server, through restarts and expired versions.
 * Every change is told once, with the object as it was.
 */
import { createInterface } from "node:readline";
import { setTimeout as sleep } from "node:timers/promises";
import { ApiError } from "./client.ts";
import type { Client, KubeObject } from "./client.ts";

export interface Watched<T> {
  /** Everything known now, by "namespace/name" ("name" where there is no namespace). */
  readonly objects: ReadonlyMap<string, T>;
  /** Resolves when the first list is in. */
  readonly synced: Promise<void>;
  stop(): void;
}

export interface WatchOptions<T> {
  client: Client;
  /** e.g. "/api/v1/pods" */
  path: string;
  /** Extra query, e.g. "fieldSelector=spec.nodeName%3Da". */
  query?: string;
  /** `now` is undefined when the object is gone. */
  changed?: (now: T | undefined, before: T | undefined) => void;
  failed?: (error: unknown) => void;
}

interface Event<T> {
  type: "ADDED" | "MODIFIED" | "DELETED" | "BOOKMARK" | "ERROR";
  object: T & KubeObject & { code?: number; message?: string };
}

const RETRY_MS = 200;

export function keyOf(object: KubeObject): string {
  const { namespace, name } = object.metadata ?? {};
  return namespace ? `${namespace}/${name}` : (name ?? "");
}

export function watchObjects<T extends KubeObject>(options: WatchOptions<T>): Watched<T> {
  const objects = new Map<string, T>();
  const abort = new AbortController();
  let synced = () => {};
  const ready = new Promise<void>((resolve) => (synced = resolve));
  void follow(options, objects, abort.signal, synced);
  return { objects, synced: ready, stop: () => abort.abort() };
}

async function follow<T extends KubeObject>(
  options: WatchOptions<T>,
  objects: Map<string, T>,
  signal: AbortSignal,
  synced: () => void,
): Promise<void> {
  let version: string | undefined;
  while (!signal.aborted) {
    try {
      version ??= await list(options, objects, signal);
      synced();
      version = await stream(options, objects, version, signal);
    } catch (error) {
      if (signal.aborted) return;
      // 410: the version is compacted; list anew.
      if (error instanceof ApiError && error.code === 410) version = undefined;
      else options.failed?.(error);
      await sleep(RETRY_MS, undefined, { signal }).catch(() => {});
    }
  }
}

async function list<T extends KubeObject>(
  { client, path, query, changed }: WatchOptions<T>,
  objects: Map<string, T>,
  signal: AbortSignal,
): Promise<string> {
  const answer = await client.get<{ metadata: { resourceVersion: string }; items: T[] }>(
    withQuery(path, query),
    {
      signal,
    },
  );
  const seen = new Set(answer.items.map(keyOf));
  for (const [key, before] of objects) {
    if (seen.has(key)) continue;
    objects.delete(key);
    changed?.(undefined, before);
  }
  for (const item of answer.items) put(objects, item, changed);
  return answer.metadata.resourceVersion;
}

/** Follows one watch to its end; resolves with the version to go on from. */
async function stream<T extends KubeObject>(
  { client, path, query, changed }: WatchOptions<T>,
  objects: Map<string, T>,
  from: string,
  signal: AbortSignal,
): Promise<string> {
  let version = from;
  const url = withQuery(path, query, `watch=true&allowWatchBookmarks=true&resourceVersion=${from}`);
  const response = await client.open("GET", url, undefined, { signal, timeoutMs: 0 });
  for await (const line of createInterface({ input: response })) {
    if (!line) continue;
    const event = JSON.parse(line) as Event<T>;
    if (event.type === "ERROR") {
      throw new ApiError(event.object.code ?? 500, "Watch", event.object.message ?? "watch failed");
    }
    version = event.object.metadata?.resourceVersion ?? version;
    if (event.type === "ADDED" || event.type === "MODIFIED") put(objects, event.object, changed);
    else if (event.type === "DELETED") {
      const key = keyOf(event.object);
      const before = objects.get(key);
      objects.delete(key);
      changed?.(undefined, before ?? event.object);
    }
  }
  return version;
}

function put<T extends KubeObject>(
  objects: Map<string, T>,
  now: T,
  changed?: WatchOptions<T>["changed"],
): void {
  const key = keyOf(now);
  const before = objects.get(key);
  if (before && before.metadata?.resourceVersion === now.metadata?.resourceVersion) return;
  objects.set(key, now);
  changed?.(now, before);
}

function withQuery(path: string, ...parts: (string | undefined)[]): string {
  const query = parts.filter(Boolean).join("&");
  return query ? `${path}?${query}` : path;
}
