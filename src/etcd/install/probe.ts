/**
 * Is the release server reachable? Asked at most once per run, with little patience, and remembered in
 * the cache for a while: a machine without internet must not wait for a time-out at every version.
 */
import { mkdir, readFile, writeFile } from "node:fs/promises";
import path from "node:path";
import { deadline, type Clock } from "../../seams/clock.ts";
import { etcdCacheDir } from "./cache.ts";

interface Remembered {
  readonly url: string;
  readonly online: boolean;
  readonly at: number;
}

const PROBE_MS = 3_000;
const REMEMBER_MS = 10 * 60_000;
const FILE = ".release-server.json";

export interface ProbeOptions {
  readonly cache: string;
  readonly clock: Clock;
  readonly signal?: AbortSignal;
}

export async function isReleaseServerReachable(url: string, options: ProbeOptions): Promise<boolean> {
  const remembered = await recall(options.cache);
  const age = options.clock.now() - (remembered?.at ?? 0);
  // A clock that was set back must not make an answer last for ever.
  if (remembered?.url === url && age >= 0 && age < REMEMBER_MS) return remembered.online;
  const online = await ask(url, options);
  await remember(url, online, options);
  return online;
}

/** Also called when a download that began failed on the way: the next version need not try. */
export async function remember(url: string, online: boolean, options: ProbeOptions): Promise<void> {
  const dir = etcdCacheDir(options.cache);
  await mkdir(dir, { recursive: true });
  const fact: Remembered = { url, online, at: options.clock.now() };
  // Not atomic on purpose: whoever reads half of it asks the server again.
  await writeFile(path.join(dir, FILE), JSON.stringify(fact));
}

async function recall(cache: string): Promise<Remembered | undefined> {
  try {
    return JSON.parse(await readFile(path.join(etcdCacheDir(cache), FILE), "utf8")) as Remembered;
  } catch {
    return undefined;
  }
}

/** A server that answers, if only with "not found", is there; a proxy that refuses or fails is not it. */
async function ask(url: string, options: ProbeOptions): Promise<boolean> {
  using limit = deadline(options.clock, PROBE_MS, options.signal);
  try {
    const answer = await fetch(url, { method: "HEAD", redirect: "manual", signal: limit.signal });
    await answer.body?.cancel();
    return answer.status < 400 || answer.status === 404 || answer.status === 405;
  } catch (error) {
    if (options.signal?.aborted) throw error;
    return false;
  }
}
