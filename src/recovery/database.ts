/** What a member's database (`member/snap/db`) says: how far the log is applied to it, its revision and its members. */
import type { Disk } from "../seams/disk.ts";
import { BoltFile } from "./bolt-file.ts";

export interface DatabaseFacts {
  /** The last entry of the log that is applied to it; a start replays those behind. */
  readonly consistentIndex: number;
  /** The latest revision in it; 0 while it holds no key. */
  readonly revision: number;
  /** Written by etcd 3.6 and later. */
  readonly storageVersion?: string;
  readonly size: number;
  readonly members: readonly ListedMember[];
}

/** An entry of the member list, as of the consistent index. */
export interface ListedMember {
  readonly id: string;
  readonly name: string;
  readonly peerURLs: readonly string[];
  readonly isLearner: boolean;
}

/** Undefined when there is none. Throws `DatabaseError` where etcd could not read it. */
export async function readDatabase(disk: Disk, file: string): Promise<DatabaseFacts | undefined> {
  const database = await BoltFile.open(disk, file);
  if (database === undefined) return undefined;
  const meta = new Map(
    (await database.bucket("meta")).map(({ key, value }) => [Buffer.from(key).toString(), value]),
  );
  const version = meta.get("storageVersion");
  return {
    consistentIndex: bigEndian(meta.get("consistent_index")),
    revision: bigEndian(await database.lastKey("key")),
    ...(version !== undefined && { storageVersion: Buffer.from(version).toString() }),
    size: (await disk.stat(file))?.size ?? 0,
    members: (await database.bucket("members")).flatMap(({ key, value }) => listed(key, value)),
  };
}

function bigEndian(bytes: Uint8Array | undefined): number {
  if (bytes === undefined || bytes.length < 8) return 0;
  return Number(new DataView(bytes.buffer, bytes.byteOffset, 8).getBigUint64(0));
}

/** etcd keeps them as JSON, by their ID in hex; the ID inside is a number too large for JSON in JavaScript. */
function listed(key: Uint8Array, value: Uint8Array): ListedMember[] {
  try {
    const member = JSON.parse(Buffer.from(value).toString()) as Partial<ListedMember> | null;
    const { name = "", peerURLs = [], isLearner = false } = member ?? {};
    return [
      {
        id: Buffer.from(key)
          .toString()
          .replace(/^0+(?=.)/, ""),
        name,
        peerURLs,
        isLearner,
      },
    ];
  } catch {
    return [];
  }
}
