/**
 * Where a follower continues: after the last segment of the log, or after the newest snapshot that fits. A snapshot fits
 * if users, roles and whether they are enforced are still what they were in it (`auth.ts`).
 */
import type { EtcdClient } from "../../etcd/client.ts";
import { formatId } from "../../etcd/id.ts";
import { listSnapshots } from "../catalog.ts";
import { KeyError } from "../codec/key.ts";
import type { Manifest } from "../manifest.ts";
import type { Decryption } from "../read.ts";
import { isStoreError, type Store } from "../store/store.ts";
import { authStateOf, isSameAuth, type AuthState } from "./auth.ts";
import { ChangeLogError } from "./errors.ts";
import { compareHistory, requireReached, setBack } from "./history.ts";
import { readLog, writeEnd, type EndReason, type Stretch } from "./log.ts";
import { readSegment, type Segment } from "./segment.ts";

export interface Start extends AuthState {
  readonly clusterId: string;
  /** The snapshot that the stretch began with. */
  readonly base: string;
  /** The follower continues with the next revision. */
  readonly after: number;
  /** When that one was received; milliseconds since the epoch. */
  readonly notBefore: number;
  /** The log has segments that end here. */
  readonly resumed: boolean;
}

/** none: there is no snapshot of the cluster with its present users and roles. damaged: the last segment is. */
export type BaseReason = EndReason | "none" | "damaged";

export type Found = { readonly start: Start } | { readonly needs: BaseReason };

export interface StartOptions extends Decryption {
  readonly client: EtcdClient;
  readonly store: Store;
  /** No earlier revision will do: etcd does not have what follows it. */
  readonly floor: number;
  readonly signal: AbortSignal;
  /** What another key wrote is as good as damaged; otherwise it is an error, since the key may be the wrong one. */
  readonly keyMayChange?: boolean;
}

/** The revision that a restore of the snapshot begins with: compaction leaves no trace of the latest deletions. */
export function restoredRevision({ revision, compactRevision }: Manifest): number {
  return Math.max(1, revision, compactRevision ?? 0);
}

/** Snapshots directly in the folder that are whole, of one cluster, oldest revision first. */
export async function basesOf(
  store: Store,
  clusterId: string,
  signal: AbortSignal,
): Promise<{ name: string; manifest: Manifest }[]> {
  const entries = await listSnapshots(store, "", signal).catch((error: unknown) => {
    if (isStoreError(error, "no-place")) return [];
    throw error;
  });
  return entries
    .flatMap(({ name, state, manifest }) =>
      state === "complete" && manifest?.clusterId === clusterId && !name.includes("/")
        ? [{ name, manifest }]
        : [],
    )
    .toSorted((a, b) => restoredRevision(a.manifest) - restoredRevision(b.manifest));
}

export async function findStart(options: StartOptions): Promise<Found> {
  const { client, store, signal } = options;
  const { header } = await client.kv.range("\0", { limit: 1, keysOnly: true, signal });
  const clusterId = formatId(header.clusterId);
  const auth = await authStateOf(client, signal);
  const { stretches } = await readLog(store, clusterId, signal);
  const latest = stretches.at(-1);
  const bases = await basesOf(store, clusterId, signal);
  const where = { uri: store.uri, clusterId };
  const newest = bases.at(-1);
  let recorded = Math.max(latest?.end?.revision ?? 0, newest ? restoredRevision(newest.manifest) : 0);
  let floor = Math.max(options.floor, latest?.end?.revision ?? 0);
  let needs: BaseReason = latest?.end?.reason ?? "none";
  if (latest !== undefined && latest.end === undefined) {
    const tail = await readTail(options, latest);
    if (tail === undefined) {
      needs = "damaged";
      floor = Math.max(floor, latest.segments.at(-1)?.first ?? 0);
      recorded = Math.max(recorded, latest.segments.at(-1)?.first ?? 0);
    } else {
      const { base, last, lastTime } = tail.header;
      recorded = Math.max(recorded, last);
      await requireReached(client, { ...where, recorded }, signal);
      await requireHistory(options, clusterId, tail);
      if (isSameAuth(tail.header, auth) && last >= floor)
        return {
          start: {
            clusterId,
            base,
            ...auth,
            after: last,
            notBefore: Date.parse(lastTime),
            resumed: true,
          },
        };
      needs = isSameAuth(tail.header, auth) ? "compacted" : "auth";
      await writeEnd(store, clusterId, { revision: last, time: lastTime, reason: needs }, signal);
      floor = Math.max(floor, last);
    }
  }
  await requireReached(client, { ...where, recorded }, signal);
  const base = bases.findLast(
    ({ manifest }) => isSameAuth(manifest, auth) && restoredRevision(manifest) >= floor,
  );
  if (base === undefined) return { needs };
  return {
    start: {
      clusterId,
      base: base.name,
      ...auth,
      after: restoredRevision(base.manifest),
      notBefore: Date.parse(base.manifest.startedAt),
      resumed: false,
    },
  };
}

/** The last change of the tail that left something behind has to be there, where etcd still knows. */
async function requireHistory(
  { client, store, signal }: StartOptions,
  clusterId: string,
  { records }: Segment,
): Promise<void> {
  const revisions = records.filter((record) => record.kind === "revision");
  const last =
    revisions.findLast(({ changes }) => changes.some(({ type }) => type === "put")) ?? revisions.at(-1);
  if (last === undefined || (await compareHistory(client, last, signal)) !== "other") return;
  throw setBack(
    { clusterId },
    `has other changes at revision ${last.revision} than are recorded in ${store.uri}`,
  );
}

/** Undefined where it is damaged, or was written with another key: what follows then needs a new base. */
async function readTail(options: StartOptions, { segments }: Stretch): Promise<Segment | undefined> {
  try {
    return await readSegment({ ...options, name: segments.at(-1)?.name ?? "" });
  } catch (error) {
    if (error instanceof ChangeLogError && error.fault === "damaged") return undefined;
    if (error instanceof KeyError && options.keyMayChange) return undefined;
    throw error;
  }
}
