/**
 * Builds the snapshot of a point in time: the snapshot before it is restored into a scratch etcd, the changes up to the
 * point are replayed, and what the scratch etcd then holds is saved as an ordinary snapshot. The result has the revision
 * of the point; raising it is a matter of the restore.
 */
import path from "node:path";
import type { EtcdClient } from "../../etcd/client.ts";
import type { InstalledEtcd } from "../../etcd/install/ensure.ts";
import type { Clock } from "../../seams/clock.ts";
import type { Endpoint } from "../../seams/etcd-transport.ts";
import type { Random } from "../../seams/random.ts";
import type { Encoding } from "../codec/codec.ts";
import type { SnapshotFacts } from "../inspect.ts";
import type { Manifest } from "../manifest.ts";
import { SnapshotReader, type Decryption } from "../read.ts";
import { saveSnapshot } from "../save.ts";
import { withScratchEtcd, type ScratchOptions } from "../scratch-process.ts";
import { SNAPSHOT_NAME } from "../scratch.ts";
import { FileStore } from "../store/file.ts";
import type { Store } from "../store/store.ts";
import { authStateOf } from "./auth.ts";
import { ChangeLogError, type ChangeLogFault } from "./errors.ts";
import { LeaseKeeper } from "./lease-keeper.ts";
import type { Point } from "./point.ts";
import { readSteps } from "./reader.ts";
import { replay, REPLAY_FLAGS } from "./replay.ts";
import { restoredRevision } from "./start.ts";

/** What is done with a scratch etcd that serves the snapshot before the point, whoever runs it. */
export interface ReplayOptions extends Decryption {
  /** The folder with the snapshot and the change log. */
  readonly store: Store;
  readonly point: Point;
  readonly clock: Clock;
  readonly random: Random;
  readonly signal: AbortSignal;
  readonly to: Encoding & { readonly store: Store; readonly name: string; readonly id?: string | undefined };
  readonly progress?: (event: BuildProgress) => void;
}

export interface BuildOptions
  extends Omit<ReplayOptions, "clock">, Omit<ScratchOptions, "etcd" | "flags" | "signal"> {
  /** Of the minor version that wrote the snapshot. */
  readonly etcd: InstalledEtcd;
}

export type BuildProgress =
  | { readonly kind: "reading"; readonly done: number; readonly of: number }
  | { readonly kind: "restoring" }
  | { readonly kind: "replaying"; readonly revision: number }
  | { readonly kind: "saving"; readonly done: number }
  | { readonly kind: "again"; readonly error: Error };

export interface Built {
  readonly manifest: Manifest;
  /** When the last of its changes was received; absent where it has none after the snapshot. */
  readonly received?: string;
}

/** A lease that expires in the scratch etcd spoils it; on a busy machine that may happen. */
const ATTEMPTS = 3;
/** A lease that expired unnoticed makes a revision too many. */
const CHANCE: ReadonlySet<ChangeLogFault> = new Set(["expired", "differs"]);

export async function buildSnapshot(options: BuildOptions): Promise<Built> {
  await fetchBase(options);
  for (let attempt = 1; ; attempt++) {
    try {
      return await buildOnce(options);
    } catch (error) {
      const isChance = error instanceof ChangeLogError && CHANCE.has(error.fault);
      if (!isChance || attempt === ATTEMPTS || options.signal.aborted) throw error;
      options.progress?.({ kind: "again", error });
    }
  }
}

/** Into the scratch directory, read to its end and checked. */
export async function fetchBase(
  options: Pick<BuildOptions, "store" | "point" | "directory" | "random" | "signal" | "progress"> &
    Decryption,
): Promise<void> {
  const { point, directory, random, signal, progress } = options;
  const { name, manifest } = point.base;
  const reader = new SnapshotReader({
    ...options,
    name,
    manifest,
    progress: (done) => progress?.({ kind: "reading", done, of: manifest.size }),
  });
  await new FileStore(directory, random).put(SNAPSHOT_NAME, reader, { signal, ifAbsent: false });
}

async function buildOnce(options: BuildOptions): Promise<Built> {
  const { directory, world, progress } = options;
  progress?.({ kind: "restoring" });
  await world.disk.remove(path.join(directory, "data"));
  return await withScratchEtcd(
    { ...options, flags: REPLAY_FLAGS },
    async (client, endpoint) => await replayInto(client, endpoint, { ...options, clock: world.clock }),
  );
}

/** Replays the changes up to the point, and saves what the scratch etcd then holds. */
export async function replayInto(
  client: EtcdClient,
  endpoint: Endpoint,
  options: ReplayOptions,
): Promise<Built> {
  const { point, signal, progress } = options;
  await using leases = await LeaseKeeper.start(client, endpoint, options.clock);
  for (const { memberId, alarm } of await client.maintenance.alarms({ signal })) {
    if (alarm === "CORRUPT")
      throw new ChangeLogError("differs", "the snapshot has the alarm CORRUPT. Use another snapshot.");
    // Its quota is another one, and nothing could be replayed.
    await client.maintenance.disarm(memberId, alarm, { signal });
  }
  const { header } = await client.kv.range("\0", { limit: 1, keysOnly: true, signal });
  const after = Number(header.revision);
  const expected = restoredRevision(point.base.manifest);
  if (after !== expected)
    throw spoiled(leases, `${point.base.name} restores to revision ${after}, not ${expected}`);
  const steps = readSteps({
    ...options,
    clusterId: point.clusterId,
    segments: point.segments,
    after,
    revision: point.revision,
    auth: await authStateOf(client, signal),
  });
  const last = await replay({
    client,
    leases,
    steps,
    signal,
    progress: (revision) => progress?.({ kind: "replaying", revision }),
  });
  const limits = { timeoutMs: 120_000, signal, revision: BigInt(point.revision) };
  const { count } = await client.kv.range("\0", { ...limits, rangeEnd: "\0", countOnly: true });
  const { base } = point;
  const manifest = await saveSnapshot({
    client,
    ...options.to,
    clock: options.clock,
    random: options.random,
    signal,
    origin: {
      clusterId: point.clusterId,
      ...(base.manifest.token !== undefined && { token: base.manifest.token }),
      ...(base.manifest.life !== undefined && { life: base.manifest.life }),
      member: base.manifest.member,
      builtFrom: base.manifest.object,
      at: new Date(last?.time ?? base.manifest.startedAt),
    },
    require: (facts) => requirePoint(facts, point, count, leases),
    progress: (event) => {
      if (event.kind === "bytes") progress?.({ kind: "saving", done: event.done });
    },
  });
  return { manifest, ...(last && { received: new Date(last.time).toISOString() }) };
}

function requirePoint(
  { database }: SnapshotFacts,
  { revision }: Point,
  keys: number,
  leases: LeaseKeeper,
): void {
  const found = Math.max(1, database.revision, database.compactRevision ?? 0);
  if (found !== revision)
    throw spoiled(leases, `the snapshot came out with revision ${found}, not ${revision}`);
  if (database.totalKeys !== undefined && database.totalKeys !== keys)
    throw spoiled(leases, `the snapshot came out with ${database.totalKeys} keys, not ${keys}`);
}

/** A revision too many is most likely a lease that expired. */
function spoiled(leases: LeaseKeeper, how: string): ChangeLogError {
  leases.check();
  return new ChangeLogError(
    "expired",
    `${how}: a lease may have expired meanwhile. Nothing was restored. Try again.`,
  );
}
