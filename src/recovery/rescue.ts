/**
 * From the data directory of the last member that has one to a snapshot of everything in it. All is done on a copy: its
 * log is committed to the end, etcd runs on it once with `--force-new-cluster`, alone, on loopback, for a client that only
 * we can be, and sends a snapshot (R22, R54). The directory itself is only read, so a run that was interrupted begins
 * again from the same data, and never a second time on the same copy.
 */
import * as fs from "node:fs/promises";
import path from "node:path";
import { EtcdClient } from "../etcd/client.ts";
import { GrpcTransport } from "../etcd/grpc/transport.ts";
import type { InstalledEtcd } from "../etcd/install/ensure.ts";
import { EtcdProcess, type ProcessWorld } from "../etcd/process.ts";
import type { TlsCredentials } from "../etcd/types.ts";
import type { Clock } from "../seams/clock.ts";
import { freeBytes, type Disk } from "../seams/disk.ts";
import type { Pki } from "../seams/pki.ts";
import { hex, type Random } from "../seams/random.ts";
import { manifestName, type Manifest } from "../snapshot/manifest.ts";
import { certificates } from "../snapshot/restore-check.ts";
import { freePorts } from "../snapshot/scratch-process.ts";
import { saveSnapshot } from "../snapshot/save.ts";
import { FileStore } from "../snapshot/store/file.ts";
import { inspectDirectory, type DirectoryFacts } from "./directory.ts";
import { ATTEMPT, COPY, dataDirFlag, forcedArguments, RESCUE_LOG, RESCUED_SNAPSHOT } from "./places.ts";
import { servesWithinMs } from "./patience.ts";
import { RescueError } from "./rescue-error.ts";
import { commitAll } from "./wal/commit-all.ts";
import type { LogPosition } from "./wal/messages.ts";

export interface RescueOptions {
  /** The member's `--data-dir`; nothing may run on it. */
  readonly dataDir: string;
  /** What was found there when the recovery was approved. */
  readonly expected: { readonly clusterID: string; readonly memberID: string; readonly last: LogPosition };
  /** Where the snapshot goes, and copies meanwhile. */
  readonly workDir: string;
  readonly etcd: InstalledEtcd;
  /** Flags that the log cannot be replayed without. */
  readonly flags: readonly string[];
  readonly pki: Pki;
  readonly random: Random;
  readonly world: ProcessWorld;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly signal: AbortSignal;
}

/** A snapshot with everything that the member's log held. */
export interface Rescued {
  readonly file: string;
  readonly sha256: string;
  readonly revision: number;
  readonly totalKeys: number | undefined;
}

/** The copy, the snapshot of it, and what a restore makes of that. */
const COPIES = 3;

export async function rescue(options: RescueOptions): Promise<Rescued> {
  const { workDir, world, random } = options;
  await world.disk.makeDirectory(workDir);
  await endAttempts(options);
  const attempt = path.join(workDir, `${ATTEMPT}${hex(random, 4)}`);
  try {
    const { copy, last } = await copyForRescue({ ...options, disk: world.disk, attempt, copies: COPIES });
    const { sha256, revision, totalKeys } = await forcedOnce(options, attempt, copy, last);
    await takeOut(world.disk, attempt, workDir);
    return { file: path.join(workDir, RESCUED_SNAPSHOT), sha256, revision, totalKeys };
  } finally {
    await world.disk.remove(attempt);
  }
}

export interface CopyOptions extends Pick<RescueOptions, "dataDir" | "expected"> {
  readonly disk: Disk;
  /** A directory for this attempt alone; made here. */
  readonly attempt: string;
  /** How many times the size of the data has to be free there. */
  readonly copies: number;
}

/** The data as it was approved, in a copy whose log is committed to its end, and on which etcd may run once. */
export async function copyForRescue(options: CopyOptions): Promise<{ copy: string; last: LogPosition }> {
  const { disk, attempt, dataDir } = options;
  const found = await verified(options);
  await disk.makeDirectory(attempt);
  await checkSpace(options);
  const copy = path.join(attempt, COPY);
  await fs.cp(dataDir, copy, { recursive: true, errorOnExist: true, force: false });
  const copied = await inspectDirectory(disk, copy);
  if (!isSame(copied, found.log))
    throw new RescueError("the copy of its data differs from the original: does something write there?");
  const member = path.join(copy, "member");
  await commitAll(disk, path.join(member, "wal"), path.join(member, "snap"));
  await claimCopy({ disk }, copy);
  return { copy, last: found.log.last };
}

/** From now on it is the snapshot; what else the attempt made can go. */
export async function takeOut(disk: Disk, attempt: string, workDir: string): Promise<void> {
  for (const name of [manifestName(RESCUED_SNAPSHOT), RESCUED_SNAPSHOT])
    await disk.rename(path.join(attempt, name), path.join(workDir, name));
}

type Found = Extract<DirectoryFacts, { state: "data" }>;

async function verified({
  dataDir,
  expected,
  disk,
}: Pick<CopyOptions, "dataDir" | "expected" | "disk">): Promise<Found> {
  const found = await inspectDirectory(disk, dataDir);
  if (found.state !== "data")
    throw new RescueError(found.state === "empty" ? `${dataDir} holds no data` : found.why);
  if (!isSame(found, expected))
    throw new RescueError(
      `${dataDir} is not what was approved: it holds entries up to term ${found.log.last.term}, index ${found.log.last.index}`,
    );
  return found;
}

function isSame(found: DirectoryFacts, expected: RescueOptions["expected"]): boolean {
  if (found.state !== "data") return false;
  const { clusterID, memberID, last } = found.log;
  return (
    clusterID === expected.clusterID &&
    memberID === expected.memberID &&
    last.term === expected.last.term &&
    last.index === expected.last.index
  );
}

/** Of all files in a directory; etcd may be at work there, so that some are gone between the two looks. */
export async function bytesIn(directory: string): Promise<number> {
  let bytes = 0;
  for (const entry of await fs.readdir(directory, { recursive: true, withFileTypes: true }))
    if (entry.isFile()) bytes += await sizeOf(path.join(entry.parentPath, entry.name));
  return bytes;
}

async function sizeOf(file: string): Promise<number> {
  try {
    return (await fs.stat(file)).size;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return 0;
    throw error;
  }
}

async function checkSpace({ dataDir, attempt, copies }: CopyOptions): Promise<void> {
  const needed = copies * (await bytesIn(dataDir));
  const free = await freeBytes(attempt);
  if (free < needed)
    throw new RescueError(
      `${path.dirname(attempt)} has ${free} bytes free, and ${needed} are needed for copies of the data: free some space`,
    );
}

/** What an earlier run left: its etcd, which outlives whoever started it, then its files. */
async function endAttempts({ workDir, world }: RescueOptions): Promise<void> {
  for (const name of await world.disk.list(workDir)) {
    if (!name.startsWith(ATTEMPT)) continue;
    const attempt = path.join(workDir, name);
    for (const identity of await world.processes.find(dataDirFlag(path.join(attempt, COPY)))) {
      const process = await world.processes.adopt(identity);
      process?.signal("SIGKILL");
      await process?.exit;
    }
    await world.disk.remove(attempt);
  }
}

/** A second run on the same copy would take the first one's cluster apart again (R54). */
export async function claimCopy(world: Pick<ProcessWorld, "disk">, copy: string): Promise<void> {
  if (!(await world.disk.create(path.join(copy, "forced"), "--force-new-cluster was run here\n")))
    throw new RescueError(`--force-new-cluster was run on ${copy} before, and must not be run there again`);
}

async function forcedOnce(
  options: RescueOptions,
  attempt: string,
  copy: string,
  last: LogPosition,
): Promise<Manifest> {
  const { etcd, world, random } = options;
  const [client, peer] = await freePorts();
  const [url, peerUrl] = [`https://127.0.0.1:${client}`, `http://127.0.0.1:${peer}`];
  const { tls, flags } = await certificates({ ...options, scratch: attempt });
  const timeoutMs = servesWithinMs(await bytesIn(copy));
  const process = await EtcdProcess.start(world, {
    binary: etcd.etcd,
    args: [...forcedArguments({ copy, url, peerUrl }), ...options.flags, ...flags],
    env: { PATH: options.env["PATH"], HOME: attempt },
    cwd: attempt,
    log: path.join(options.workDir, RESCUE_LOG),
  });
  try {
    const ready = async (serves: (limit: AbortSignal) => Promise<boolean>) =>
      await process.ready(serves, { timeoutMs, signal: options.signal });
    const { signal } = options;
    return await saveForced({ attempt, url, tls, last, ready, clock: world.clock, random, signal });
  } finally {
    await process.kill();
  }
}

export interface SaveForced {
  /** Where the snapshot goes, beside the copy. */
  readonly attempt: string;
  readonly url: string;
  readonly tls: TlsCredentials;
  /** Everything up to here has to be in it. */
  readonly last: Pick<LogPosition, "index">;
  /** Waits until etcd answers. */
  readonly ready: (serves: (limit: AbortSignal) => Promise<boolean>) => Promise<void>;
  readonly clock: Clock;
  readonly random: Random;
  readonly signal: AbortSignal;
}

/** Takes the snapshot of an etcd that runs alone on a copy, once it has everything. */
export async function saveForced(options: SaveForced): Promise<Manifest> {
  const { attempt, url, tls, last, ready, clock, random, signal } = options;
  const transport = new GrpcTransport({ clock, tls });
  try {
    const endpoint = { name: "survivor", url, serverName: "localhost" };
    const reader = new EtcdClient({ transport, clock, endpoints: [endpoint] });
    await ready(async (limit) => {
      await reader.kv.get("\0", { timeoutMs: 2_000, signal: limit });
      return true;
    });
    const status = await reader.maintenance.status(endpoint, { timeoutMs: 5_000, signal });
    const { members } = await reader.cluster.memberList({ timeoutMs: 5_000, signal });
    if (members.length !== 1 || Number(status.raftAppliedIndex) < last.index)
      throw new RescueError(
        `etcd came up with ${members.length} members and entries up to ${status.raftAppliedIndex}, where one member and entries up to ${last.index} were expected`,
      );
    return await saveSnapshot({
      client: reader,
      store: new FileStore(attempt, random),
      name: RESCUED_SNAPSHOT,
      compression: "none",
      clock,
      random,
      signal,
    });
  } finally {
    await transport.close();
  }
}
