/**
 * A verification in steps that containers of one Pod take: the snapshot is fetched onto a scratch volume and read to its
 * end; etcdutl restores it there; an etcd runs on the result; and its content is compared with what was recorded. The
 * time from the first byte to an etcd that answers is what a restore takes.
 */
import path from "node:path";
import { mebibytes } from "../core/messages/words.ts";
import { EtcdClient } from "../etcd/client.ts";
import { GrpcTransport } from "../etcd/grpc/transport.ts";
import { deadline, sleep, type Clock } from "../seams/clock.ts";
import { freeBytes, type Disk } from "../seams/disk.ts";
import type { Pki } from "../seams/pki.ts";
import type { Random } from "../seams/random.ts";
import { findSnapshot } from "./catalog.ts";
import { compareRestored, type Compared, type Recorded } from "./compare.ts";
import { SnapshotDamaged, type SnapshotFacts } from "./inspect.ts";
import type { Manifest } from "./manifest.ts";
import { SnapshotReader, type Decryption } from "./read.ts";
import { clearScratch, issueCertificates, readCertificates, SNAPSHOT_NAME, type Scratch } from "./scratch.ts";
import { FileStore } from "./store/file.ts";
import type { Store } from "./store/store.ts";
import { VerificationError } from "./verification-error.ts";

export interface Verified extends Compared {
  /** From the first byte that was read to an etcd that answered. */
  readonly rtoMs: number;
}

export interface FetchStep extends Decryption {
  readonly store: Store;
  /** The object's. */
  readonly name: string;
  /** Of the snapshot, as it was recorded elsewhere: what is in the store may have been replaced as a whole. */
  readonly sha256?: string | undefined;
  readonly scratch: Pick<Scratch, "directory" | "clientURL">;
  readonly disk: Disk;
  readonly pki: Pki;
  readonly clock: Clock;
  readonly random: Random;
  readonly signal: AbortSignal;
  readonly progress?: (done: number, of: number) => void;
}

interface Expected extends Recorded {
  /** By the clock of the node, which both steps share. */
  readonly began: number;
}

const EXPECTED = "expected.json";
/** The file, the database made from it, and etcd's log. */
const TIMES = 2;
const LOG_BYTES = 2 * 64 * 1024 * 1024;
/** Reading a large database into memory takes its time. */
const START_TIMEOUT_MS = 600_000;
const POLL_MS = 200;

/** Bytes of scratch space that a snapshot of a size needs. */
export function scratchBytes(size: number): number {
  return TIMES * size + LOG_BYTES;
}

export async function requireScratchSpace(directory: string, size: number): Promise<void> {
  const [free, needed] = [await freeBytes(directory), scratchBytes(size)];
  if (free < needed)
    throw new VerificationError(
      "NoSpace",
      `${directory} has ${mebibytes(free)} free, and restoring a snapshot of ${mebibytes(size)} needs ${mebibytes(needed)}`,
    );
}

/** Fetches and checks it, and leaves what the next steps need. What an earlier attempt left is removed. */
export async function fetchForVerification(options: FetchStep): Promise<Manifest> {
  const { store, scratch, disk, clock, random, signal } = options;
  const { directory } = scratch;
  await clearScratch(directory, disk);
  const manifest = await findComplete(options);
  const { name } = options;
  await requireScratchSpace(directory, manifest.size);
  const began = clock.now();
  const read = async (): Promise<SnapshotFacts> => {
    const progress = (done: number) => options.progress?.(done, manifest.size);
    const reader = new SnapshotReader({ ...options, store, name, manifest, progress });
    await new FileStore(directory, random).put(SNAPSHOT_NAME, reader, { signal, ifAbsent: false });
    if (reader.facts === undefined) throw new SnapshotDamaged(`${store.uri}${name} is empty`);
    return reader.facts;
  };
  // What is wrong with what was read may be wrong with the way to here: damage is what is found twice.
  const facts = await read().catch(async (error: unknown) => {
    if (!(error instanceof SnapshotDamaged)) throw error;
    return await read();
  });
  await issueCertificates(scratch, options);
  const { revision, totalKeys } = facts.database;
  const expected: Expected = { began, database: { revision, totalKeys }, hashKv: manifest.hashKv };
  await disk.write(path.join(directory, EXPECTED), JSON.stringify(expected), { private: true });
  return manifest;
}

/** Asked for by name: a listing may be out of date. An object without a manifest is not known to be whole. */
async function findComplete({ store, name, sha256, signal }: FetchStep): Promise<Manifest> {
  const uri = `${store.uri}${name}`;
  const entry = await findSnapshot(store, name, signal);
  if (entry === undefined || entry.state === "orphan")
    throw new VerificationError(
      "ObjectMissing",
      `${uri} is not in the store any more. Use another snapshot.`,
    );
  if (entry.state === "plain" || entry.manifest === undefined)
    throw entry.state === "damaged"
      ? new SnapshotDamaged(`${uri} is damaged: ${entry.problem ?? "unknown"}. Use another snapshot.`)
      : new VerificationError(
          "ObjectMissing",
          `the manifest of ${uri} is not in the store any more, so there is nothing to compare it with. Use another snapshot.`,
        );
  if (sha256 !== undefined && entry.manifest.sha256 !== sha256)
    throw new SnapshotDamaged(
      `${uri} is another snapshot than the one that was taken: the SHA-256 in its manifest is ${entry.manifest.sha256}, and ${sha256} was recorded. Use another snapshot.`,
    );
  return entry.manifest;
}

export interface CompareStep {
  readonly scratch: Pick<Scratch, "directory" | "clientURL">;
  readonly disk: Disk;
  readonly clock: Clock;
  readonly signal: AbortSignal;
}

/** Waits for the scratch etcd to answer, and compares. */
export async function compareScratch({ scratch, disk, clock, signal }: CompareStep): Promise<Verified> {
  const { directory, clientURL } = scratch;
  const file = path.join(directory, EXPECTED);
  const text = await disk.read(file);
  if (text === undefined)
    throw new VerificationError(
      "RestoreFailed",
      `${file} is missing: nothing was fetched; run snapshot verify-fetch first`,
    );
  const { began, ...recorded } = JSON.parse(text) as Expected;
  const tls = await readCertificates(directory, disk);
  const transport = new GrpcTransport({ clock, tls });
  try {
    const endpoint = { name: "scratch", url: clientURL };
    const reader = new EtcdClient({ transport, clock, endpoints: [endpoint] });
    await untilServing(reader, clock, signal);
    const rtoMs = Math.max(0, clock.now() - began);
    return { rtoMs, ...(await compareRestored(reader, endpoint, recorded, signal)) };
  } finally {
    await transport.close();
  }
}

export async function untilServing(reader: EtcdClient, clock: Clock, signal: AbortSignal): Promise<void> {
  using limit = deadline(clock, START_TIMEOUT_MS, signal);
  let last: unknown;
  while (!limit.signal.aborted) {
    try {
      await reader.kv.get("\0", { timeoutMs: 2_000, signal: limit.signal });
      return;
    } catch (error) {
      last = error;
    }
    await sleep(clock, POLL_MS, limit.signal).catch(() => undefined);
  }
  signal.throwIfAborted();
  throw new VerificationError(
    "RestoreFailed",
    `etcd does not serve the restored data after ${START_TIMEOUT_MS / 60_000} minutes (${last instanceof Error ? last.message : String(last)}); see the log of its container`,
    { cause: last },
  );
}
