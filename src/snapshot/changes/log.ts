/**
 * What a store holds of a cluster's change log, from the names of its objects and two small ones that are plain JSON, so
 * that a listing needs no key. The segments themselves are believed only when they are read (`segment.ts`).
 */
import { isStoreError, once, readText, type Store } from "../store/store.ts";
import { ChangeLogError } from "./errors.ts";
import { endName, liveName, logPrefix, parseLogName } from "./names.ts";

/**
 * Why a log cannot be continued without a new snapshot. auth: users or roles changed, or authentication was switched, which no watch tells. compacted:
 * etcd no longer has the changes. gap: etcd did not send all of them.
 */
const END_REASONS = ["auth", "compacted", "gap"] as const;
export type EndReason = (typeof END_REASONS)[number];

/** Everything up to this revision is in the log, and nothing else had been received at this time. */
export interface Position {
  readonly revision: number;
  /** ISO 8601. */
  readonly time: string;
}

export interface LogEnd extends Position {
  readonly reason: EndReason;
}

export interface NamedSegment {
  readonly name: string;
  /** Its first revision. */
  readonly first: number;
  /** When the store got it; milliseconds since the epoch. */
  readonly writtenAt: number;
}

/** Segments that follow each other, for all that their names say. */
export interface Stretch {
  readonly segments: readonly NamedSegment[];
  /** Present where a follower has ended it. */
  readonly end?: LogEnd;
}

export interface ChangeLog {
  readonly clusterId: string;
  /** Oldest first; none is empty. */
  readonly stretches: readonly Stretch[];
  /** What a follower has told last: of the latest stretch, or of a snapshot that nothing has followed yet. */
  readonly live?: Position;
}

/** The logs of all clusters in a folder. */
export async function listLogs(store: Store, signal: AbortSignal): Promise<ChangeLog[]> {
  const clusters = new Set<string>();
  for await (const { name } of store.list("changes/", signal)) {
    const parsed = parseLogName(name);
    if (parsed !== undefined && name.startsWith(logPrefix(parsed.clusterId))) clusters.add(parsed.clusterId);
  }
  return await Promise.all([...clusters].map((clusterId) => readLog(store, clusterId, signal)));
}

export async function readLog(store: Store, clusterId: string, signal: AbortSignal): Promise<ChangeLog> {
  // It is written after the segments: read before them, it never tells of one that the list is too early for.
  const live = await readLive(store, clusterId, signal);
  const objects: { name: string; modifiedAt: Date }[] = [];
  try {
    for await (const object of store.list(logPrefix(clusterId), signal)) objects.push(object);
  } catch (error) {
    // A folder is made with its first object.
    if (!isStoreError(error, "no-place")) throw error;
  }
  const stretches: Stretch[] = [];
  let segments: NamedSegment[] = [];
  // With the same number, an end sorts before the segment that follows it.
  for (const { name, modifiedAt } of objects.toSorted((a, b) => (a.name < b.name ? -1 : 1))) {
    const parsed = parseLogName(name);
    if (parsed?.kind === "log")
      segments.push({ name, first: parsed.revision ?? 0, writtenAt: modifiedAt.getTime() });
    else if (parsed?.kind === "end" && segments.length > 0) {
      stretches.push({ segments, end: await readEnd(store, name, signal) });
      segments = [];
    }
  }
  if (segments.length > 0) stretches.push({ segments });
  return { clusterId, stretches, ...(live !== undefined && { live }) };
}

export async function writeEnd(
  store: Store,
  clusterId: string,
  end: LogEnd,
  signal: AbortSignal,
): Promise<void> {
  const name = endName(clusterId, end.revision + 1);
  try {
    await store.put(name, once(`${JSON.stringify(end)}\n`), { signal, ifAbsent: true });
  } catch (error) {
    if (!isStoreError(error, "exists")) throw error;
  }
}

export async function writeLive(
  store: Store,
  clusterId: string,
  position: Position,
  signal: AbortSignal,
): Promise<void> {
  await store.put(liveName(clusterId), once(`${JSON.stringify(position)}\n`), { signal, ifAbsent: false });
}

/** Undefined where there is none, or none that can be read: it only proves that nothing happened since. */
async function readLive(store: Store, clusterId: string, signal: AbortSignal): Promise<Position | undefined> {
  try {
    return positionOf(JSON.parse(await readText(store, liveName(clusterId), signal)));
  } catch (error) {
    if (isStoreError(error, "not-found", "invalid") || error instanceof SyntaxError) return undefined;
    throw error;
  }
}

async function readEnd(store: Store, name: string, signal: AbortSignal): Promise<LogEnd> {
  const text = await readText(store, name, signal);
  let parsed: unknown;
  try {
    parsed = JSON.parse(text);
  } catch {
    parsed = undefined;
  }
  const position = positionOf(parsed);
  const reason = END_REASONS.find((one) => one === (parsed as { reason?: unknown } | undefined)?.reason);
  if (position === undefined || reason === undefined)
    throw new ChangeLogError(
      "damaged",
      `${store.uri}${name}, which says where the change log ends, is damaged. Restore a snapshot as it is.`,
    );
  return { ...position, reason };
}

function positionOf(parsed: unknown): Position | undefined {
  const { revision, time } = (parsed ?? {}) as Partial<Record<keyof Position, unknown>>;
  return Number.isSafeInteger(revision) && typeof time === "string" && !Number.isNaN(Date.parse(time))
    ? { revision: revision as number, time }
    : undefined;
}
