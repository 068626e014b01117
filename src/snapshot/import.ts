/**
 * Takes a snapshot that somebody else made into a store of ours: read to its end, checked, written as the file that etcd
 * would have sent, with a manifest of what can be known of it.
 */
import type { Random } from "../seams/random.ts";
import { hex } from "../seams/random.ts";
import type { Entry } from "./catalog.ts";
import { ecoName } from "./eco.ts";
import { MANIFEST_FORMAT, manifestName, UNKNOWN_ID, writeManifest, type Manifest } from "./manifest.ts";
import { SnapshotReader } from "./read.ts";
import { SnapshotDamaged } from "./inspect.ts";
import { once, type Store } from "./store/store.ts";

export interface ImportOptions {
  readonly from: Store;
  readonly entry: Entry;
  readonly to: Store;
  /** The object's name, or a folder (empty, or with a slash at its end) in which one is made. */
  readonly name: string;
  /** What the file does not tell: 3.5 and older leave no trace of their version. */
  readonly etcdVersion?: string | undefined;
  /** etcd's ID of the cluster, which no snapshot holds. */
  readonly clusterId?: string | undefined;
  readonly random: Random;
  readonly signal: AbortSignal;
  readonly progress?: (done: number) => void;
}

export class ImportRefused extends Error {
  override name = "ImportRefused";
}

export async function importSnapshot(options: ImportOptions): Promise<Manifest> {
  const { from, entry, to, signal } = options;
  const uri = `${from.uri}${entry.name}`;
  if (entry.manifest !== undefined)
    throw new ImportRefused(`${uri} has a manifest already: copy it with \`snapshot copy\``);
  const clusterId = options.clusterId ?? UNKNOWN_ID;
  const name = nameFor(options, clusterId);
  const reader = new SnapshotReader({ ...options, store: from, name: entry.name });
  let etcdVersion = options.etcdVersion;
  const checked = async function* (): AsyncGenerator<Uint8Array> {
    yield* reader;
    etcdVersion ??= reader.facts?.database.storageVersion;
    // Thrown before the store makes the object appear.
    if (etcdVersion === undefined)
      throw new ImportRefused(
        `${uri} does not say which etcd wrote it (3.5 or older): pass --etcd-version, such as 3.5.21`,
      );
  };
  await to.put(name, checked(), { signal, ifAbsent: true });
  const { facts } = reader;
  if (facts === undefined || etcdVersion === undefined)
    throw new SnapshotDamaged("the store did not read the snapshot to its end");
  const { revision, totalKeys, totalEntries, storageVersion, authRevision, authEnabled, compactRevision } =
    facts.database;
  const member = ecoName(entry.name)?.member;
  const manifest: Manifest = {
    format: MANIFEST_FORMAT,
    object: name.slice(name.lastIndexOf("/") + 1),
    clusterId,
    member: { id: UNKNOWN_ID, ...(member !== undefined && { name: member }), endpoint: uri },
    etcdVersion,
    ...(storageVersion !== undefined && { storageVersion }),
    revision,
    ...(totalKeys !== undefined && { totalKeys }),
    totalEntries,
    ...(authRevision !== undefined && { authRevision }),
    ...(authEnabled !== undefined && { authEnabled }),
    ...(compactRevision !== undefined && { compactRevision }),
    size: facts.size,
    sha256: facts.sha256,
    stored: { size: facts.size, sha256: facts.sha256 },
    compression: "none",
    startedAt: entry.at.toISOString(),
    completedAt: entry.at.toISOString(),
  };
  await to.put(manifestName(name), once(writeManifest(manifest)), { signal, ifAbsent: true });
  return manifest;
}

function nameFor({ name, entry, random }: ImportOptions, clusterId: string): string {
  if (name !== "" && !name.endsWith("/")) return name;
  const time = entry.at
    .toISOString()
    .replace(/\.\d+Z$/, "Z")
    .replaceAll(/[-:]/g, "");
  return `${name}etcd-${clusterId}-${time}-${hex(random, 2)}.db`;
}
