/**
 * What a path on a machine leads to: a member's data, with whose it is by the name of its directory, or a snapshot. Nothing
 * is written.
 */
import path from "node:path";
import type { Disk } from "../../seams/disk.ts";
import type { Random } from "../../seams/random.ts";
import { findSnapshot } from "../../snapshot/catalog.ts";
import { checkSnapshot } from "../../snapshot/read.ts";
import { FileStore } from "../../snapshot/store/file.ts";
import { inspectDirectory, type DirectoryFacts } from "../directory.ts";

export type NodeFound =
  | { readonly kind: "member"; readonly member: MemberFound }
  | { readonly kind: "snapshot"; readonly snapshot: SnapshotFound }
  /** Below it are the directories of several members: one has to be named. */
  | { readonly kind: "several"; readonly directories: readonly string[] }
  | { readonly kind: "nothing" };

export interface MemberFound {
  /** What etcd has as `--data-dir`. */
  readonly dataDir: string;
  /** Where a recovery works: beside the data, and never in it. */
  readonly workBase: string;
  readonly owner?: Owner | undefined;
  readonly facts: DirectoryFacts;
}

/** By the name of a directory of medium HostPath: `<namespace>/<cluster>.<UID>/<member>.<UID>`. */
export interface Owner {
  readonly namespace: string;
  readonly cluster: string;
  readonly member: string;
}

export interface SnapshotFound {
  readonly file: string;
  readonly sha256: string;
  readonly size: number;
  readonly revision: number;
  readonly totalKeys: number | undefined;
  /** As far as its manifest or its data tells. */
  readonly version?: string | undefined;
}

export interface Around {
  readonly disk: Disk;
  readonly random: Random;
  readonly signal: AbortSignal;
}

/** Namespace, cluster and member. */
const DEEPEST = 3;

/** `given` is without links, so that every call finds the same. */
export async function findOnNode(given: string, around: Around): Promise<NodeFound> {
  const { disk } = around;
  const entry = await disk.stat(given);
  if (entry?.kind === "file") return { kind: "snapshot", snapshot: await snapshotAt(given, around) };
  if (entry?.kind !== "directory") return { kind: "nothing" };
  const directories = await membersBelow(disk, given, DEEPEST);
  const [only, more] = directories;
  if (only === undefined) return { kind: "nothing" };
  if (more !== undefined) return { kind: "several", directories };
  return { kind: "member", member: await memberAt(disk, only) };
}

async function hasLog(disk: Disk, dataDir: string): Promise<boolean> {
  return (await disk.stat(path.join(dataDir, "member", "wal")))?.kind === "directory";
}

async function membersBelow(disk: Disk, directory: string, depth: number): Promise<string[]> {
  if (await hasLog(disk, directory)) return [directory];
  if (await hasLog(disk, path.join(directory, "data"))) return [path.join(directory, "data")];
  if (depth === 0) return [];
  const found: string[] = [];
  for (const name of await disk.list(directory)) {
    const below = path.join(directory, name);
    // What a recovery left beside the data is no member.
    if (name === "recovery" || name.endsWith(".recovery")) continue;
    if ((await disk.stat(below))?.kind === "directory")
      found.push(...(await membersBelow(disk, below, depth - 1)));
  }
  return found;
}

async function memberAt(disk: Disk, dataDir: string): Promise<MemberFound> {
  const isOnVolume = path.basename(dataDir) === "data";
  const volume = path.dirname(dataDir);
  return {
    dataDir,
    workBase: isOnVolume ? path.join(volume, "recovery") : `${dataDir}.recovery`,
    owner: isOnVolume ? ownerOf(volume) : undefined,
    facts: await inspectDirectory(disk, dataDir),
  };
}

export function ownerOf(volume: string): Owner | undefined {
  const [namespace = "", cluster = "", member = ""] = volume.split(path.sep).slice(-3);
  const named = (text: string) => /^(?<name>[a-z0-9-]+)\.[0-9a-f-]+$/.exec(text)?.groups?.["name"];
  const [of, who] = [named(cluster), named(member)];
  return of !== undefined && who?.startsWith(`${of}-`) ? { namespace, cluster: of, member: who } : undefined;
}

async function snapshotAt(file: string, { random, signal }: Around): Promise<SnapshotFound> {
  const store = new FileStore(path.dirname(file), random);
  const name = path.basename(file);
  const manifest = (await findSnapshot(store, name, signal))?.manifest;
  const { sha256, size, database } = await checkSnapshot({ store, name, manifest, signal });
  const { revision, totalKeys, storageVersion } = database;
  return { file, sha256, size, revision, totalKeys, version: manifest?.etcdVersion ?? storageVersion };
}
