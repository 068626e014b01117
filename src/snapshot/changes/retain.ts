/** How far a change log leads from a snapshot, and which of its segments no snapshot needs any more. */
import type { Manifest } from "../manifest.ts";
import { isStoreError, type Store } from "../store/store.ts";
import { listLogs, type ChangeLog, type Position } from "./log.ts";
import { endName } from "./names.ts";
import { basesOf, restoredRevision } from "./start.ts";

/** The last point that can be restored from the snapshot, for all that the log says of itself. */
export function reachOf({ stretches, live }: ChangeLog, manifest: Manifest): Position | undefined {
  const revision = restoredRevision(manifest);
  const stretch = stretches.findLast(({ segments }) => (segments[0]?.first ?? Infinity) <= revision + 1);
  // Nothing has changed since the snapshot, as far as the follower has told.
  const isQuiet = live?.revision === revision && (stretch?.end?.revision ?? 0) <= revision;
  const end = isQuiet ? live : (stretch?.end ?? (stretch === stretches.at(-1) ? live : undefined));
  return end !== undefined && end.revision >= revision
    ? { revision: end.revision, time: end.time }
    : undefined;
}

/**
 * By their names, segments end where the next one begins; one of a second follower may be longer than that. It holds no
 * change after a snapshot that was begun later than it was written. So much for clocks and for a member that is behind.
 */
const WRITTEN_BEFORE_MS = 600_000;

/**
 * Names of what lies wholly before the oldest snapshot that is kept, oldest first: what is left of an interrupted
 * deletion has no hole. The last segment always stays, since the follower continues after it.
 */
export function obsolete({ clusterId, stretches }: ChangeLog, kept: readonly Manifest[]): string[] {
  const oldest = Math.min(...kept.map(restoredRevision));
  if (!Number.isFinite(oldest)) return [];
  const times = kept
    .filter((one) => restoredRevision(one) === oldest)
    .map(({ startedAt }) => Date.parse(startedAt));
  const before = Math.min(...times) - WRITTEN_BEFORE_MS;
  const all = stretches.flatMap(({ segments, end }) =>
    segments.map((segment, index) => ({
      ...segment,
      end: index === segments.length - 1 && end ? [endName(clusterId, end.revision + 1)] : [],
    })),
  );
  const stays = all.findIndex(({ writtenAt }, index) => {
    const next = all[index + 1];
    return next === undefined || next.first - 1 > oldest || writtenAt >= before;
  });
  return all.slice(0, stays).flatMap(({ name, end }) => [name, ...end]);
}

/** Of all logs in a folder, by the snapshots that are there; of a log without any snapshot nothing. */
export async function obsoleteChanges(store: Store, signal: AbortSignal): Promise<string[]> {
  const logs = await listLogs(store, signal).catch((error: unknown) => {
    if (isStoreError(error, "no-place")) return [];
    throw error;
  });
  const names = await Promise.all(
    logs.map(async (log) => {
      const kept = await basesOf(store, log.clusterId, signal);
      return obsolete(
        log,
        kept.map(({ manifest }) => manifest),
      );
    }),
  );
  return names.flat();
}
