/**
 * Takes a snapshot: from etcd through the page reader, compression and encryption into a store, in one pass with
 * bounded memory. The object appears only when its hash was right, and the manifest after it.
 */
import type { ClusterLife } from "../core/snapshots/life.ts";
import type { EtcdClient } from "../etcd/client.ts";
import { describe } from "../etcd/endpoints.ts";
import { isEtcdError } from "../etcd/errors.ts";
import { formatId } from "../etcd/id.ts";
import type { Clock } from "../seams/clock.ts";
import type { Random } from "../seams/random.ts";
import { hex } from "../seams/random.ts";
import { orderCandidates, type Candidate, type Usable } from "./choose.ts";
import { encode, extension, StoredBytes, type Encoding } from "./codec/codec.ts";
import { CHUNK_BYTES } from "./codec/encrypt.ts";
import { InspectedSnapshot, SnapshotDamaged, type SnapshotFacts } from "./inspect.ts";
import { leftoversOf } from "./leftovers.ts";
import {
  MANIFEST_FORMAT,
  manifestName,
  writeManifest,
  type HashKvRecord,
  type Manifest,
} from "./manifest.ts";
import { isOwn } from "./own.ts";
import { isStoreError, once, type Leftover, type Store } from "./store/store.ts";

export interface SaveOptions extends Encoding {
  readonly client: EtcdClient;
  readonly store: Store;
  /** The object's name, or the folder (empty, or with a slash at its end) in which one is made. */
  readonly name: string;
  /** With which a name that is made begins; with the cluster's ID unless given. */
  readonly id?: string | undefined;
  readonly clock: Clock;
  readonly random: Random;
  readonly signal: AbortSignal;
  /** Ask the member for the hash of its keys at the snapshot's revision, which makes it read all of them. */
  readonly hashKv?: boolean;
  /** What etcd does not tell of its cluster, and Quorate knows. */
  readonly life?: ClusterLife | undefined;
  /** Of a cluster whose state was rebuilt elsewhere: what the manifest says instead of what the endpoint does. */
  readonly origin?: SnapshotOrigin;
  /** Throws where it is not what it should be; the object does not appear then. */
  readonly require?: (facts: SnapshotFacts) => void;
  readonly progress?: (event: SaveProgress) => void;
}

export interface SnapshotOrigin extends Pick<
  Manifest,
  "clusterId" | "token" | "life" | "member" | "builtFrom"
> {
  /** The time of the state that it holds. */
  readonly at: Date;
}

export type SaveProgress =
  | { readonly kind: "member"; readonly endpoint: string; readonly leader: boolean; readonly quorum: boolean }
  | { readonly kind: "bytes"; readonly done: number; readonly of: number | undefined }
  /** What a killed attempt had written was removed. */
  | { readonly kind: "leftover"; readonly leftover: Leftover }
  | { readonly kind: "leftovers-stay"; readonly error: Error }
  | { readonly kind: "retry"; readonly endpoint: string; readonly error: Error }
  /** The hash of the keys was asked for and will not be in the manifest. */
  | { readonly kind: "no-hash"; readonly endpoint: string; readonly error: Error };

const STATUS_TIMEOUT_MS = 5_000;

/**
 * Of earlier attempts with this ID, which were killed: whoever repeats a command runs it alone. That some cannot be
 * removed is told, and the snapshot is taken all the same.
 */
async function removeLeftovers({ store, id, name, signal, progress }: SaveOptions): Promise<void> {
  if (id === undefined) return;
  const folder = name.slice(0, name.lastIndexOf("/") + 1);
  const isMeant = ({ of }: Leftover) => isOwn(of.slice(folder.length), id);
  try {
    for (const leftover of await leftoversOf(store, folder, isMeant, signal)) {
      await store.delete(leftover.name, signal);
      progress?.({ kind: "leftover", leftover });
    }
  } catch (error) {
    if (!isStoreError(error) || signal.aborted) throw error;
    progress?.({ kind: "leftovers-stay", error });
  }
}

/** Tries the members in turn, best first, when one cannot send. Failures of the store are not tried again here. */
export async function saveSnapshot(options: SaveOptions): Promise<Manifest> {
  const members = orderCandidates(await askAll(options));
  await removeLeftovers(options);
  for (const [index, member] of members.entries()) {
    try {
      return await saveFrom(member, options);
    } catch (error) {
      const next = members[index + 1];
      if (!isEtcdError(error) || next === undefined || options.signal.aborted) throw error;
      options.progress?.({ kind: "retry", endpoint: describe(next.endpoint), error });
    }
  }
  throw new Error("no member to take a snapshot from");
}

async function askAll({ client, signal }: SaveOptions): Promise<readonly Candidate[]> {
  return await Promise.all(
    client.endpoints.map(async (endpoint): Promise<Candidate> => {
      try {
        const limits = { timeoutMs: STATUS_TIMEOUT_MS, signal };
        return { endpoint, status: await client.maintenance.status(endpoint, limits) };
      } catch (error) {
        return { endpoint, error };
      }
    }),
  );
}

async function saveFrom({ endpoint, status }: Usable, options: SaveOptions): Promise<Manifest> {
  const { client, store, clock, random, signal, progress } = options;
  const { origin } = options;
  const startedAt = origin?.at ?? new Date(clock.now());
  const clusterId = origin?.clusterId ?? formatId(status.header.clusterId);
  const name =
    options.name === "" || options.name.endsWith("/")
      ? `${options.name}${objectName(options.id ?? `etcd-${clusterId}`, startedAt, random)}${extension(options)}`
      : options.name;
  const leader = { leader: status.isLeader, quorum: status.leader !== 0n };
  progress?.({ kind: "member", endpoint: describe(endpoint), ...leader });
  const source = client.maintenance.snapshot(endpoint, { signal, unhashed: true });
  const plain = new InspectedSnapshot(source, (done) =>
    progress?.({ kind: "bytes", done, of: source.expectedSize }),
  );
  const checked = async function* (): AsyncGenerator<Uint8Array> {
    yield* plain;
    if (plain.facts !== undefined) options.require?.(plain.facts);
  };
  const body = options.require === undefined ? plain : checked();
  const isPlain = options.compression === "none" && options.key === undefined;
  const encoded = isPlain ? undefined : new StoredBytes(encode(body, options, random));
  await store.put(name, encoded ?? body, { signal, ifAbsent: true });
  const { facts } = plain;
  if (facts === undefined) throw new SnapshotDamaged(`the store did not read the snapshot to its end`);
  const hashKv = options.hashKv ? await askHash(options, { endpoint, status }, facts) : undefined;
  const { revision, totalKeys, totalEntries, storageVersion, authRevision, authEnabled, compactRevision } =
    facts.database;
  const memberName = origin === undefined ? await nameOf(options, status.header.memberId) : undefined;
  const manifest: Manifest = {
    format: MANIFEST_FORMAT,
    object: name.slice(name.lastIndexOf("/") + 1),
    clusterId,
    ...lifeOf(origin ?? options.life),
    member: origin?.member ?? {
      id: formatId(status.header.memberId),
      ...(memberName !== undefined && { name: memberName }),
      endpoint: endpoint.url,
    },
    etcdVersion: status.version,
    ...(storageVersion !== undefined && { storageVersion }),
    revision,
    ...(totalKeys !== undefined && { totalKeys }),
    totalEntries,
    ...(authRevision !== undefined && { authRevision }),
    ...(authEnabled !== undefined && { authEnabled }),
    ...(compactRevision !== undefined && { compactRevision }),
    size: facts.size,
    sha256: facts.sha256,
    stored: encoded?.finish() ?? { size: facts.size, sha256: facts.sha256 },
    compression: options.compression,
    ...(options.key !== undefined && {
      encryption: { algorithm: "AES-256-GCM", keyId: options.key.id, chunkBytes: CHUNK_BYTES },
    }),
    ...(hashKv !== undefined && { hashKv }),
    ...(origin?.builtFrom !== undefined && { builtFrom: origin.builtFrom }),
    startedAt: startedAt.toISOString(),
    completedAt: new Date(clock.now()).toISOString(),
  };
  await store.put(manifestName(name), once(writeManifest(manifest)), { signal, ifAbsent: true });
  return manifest;
}

function lifeOf({ token, life }: Partial<ClusterLife> = {}): Pick<Manifest, "token" | "life"> {
  return { ...(token !== undefined && { token }), ...(life !== undefined && { life }) };
}

/** Sorts by what it is of and time. The revision is not in it: nobody knows it before the last page. */
function objectName(of: string, at: Date, random: Random): string {
  const time = at
    .toISOString()
    .replace(/\.\d+Z$/, "Z")
    .replaceAll(/[-:]/g, "");
  return `${of}-${time}-${hex(random, 2)}`;
}

/** Undefined when it cannot be had: the snapshot is in the store and whole, and must not be lost for it. */
async function askHash(
  { client, signal, progress }: SaveOptions,
  { endpoint }: Usable,
  { database: { revision } }: SnapshotFacts,
): Promise<HashKvRecord | undefined> {
  if (revision === 0) return undefined;
  try {
    const answer = await client.maintenance.hashKv(endpoint, BigInt(revision), { signal });
    return { hash: answer.hash, revision, compactRevision: Number(answer.compactRevision) };
  } catch (error) {
    if (!isEtcdError(error) || signal.aborted) throw error;
    progress?.({ kind: "no-hash", endpoint: describe(endpoint), error });
    return undefined;
  }
}

async function nameOf({ client, signal }: SaveOptions, id: bigint): Promise<string | undefined> {
  try {
    const options = { linearizable: false, timeoutMs: STATUS_TIMEOUT_MS, signal };
    const { members } = await client.cluster.memberList(options);
    return members.find((member) => member.id === id)?.name;
  } catch {
    // A user without the right to list members can still take a snapshot; the ID is in the manifest.
    return undefined;
  }
}
