/**
 * What a member's data directory holds, read from its files alone: for a member that is stopped, or that etcd cannot start.
 * Nothing is written. Of a running member it may miss what is being written at this moment.
 */
import path from "node:path";
import type { Disk } from "../seams/disk.ts";
import { DatabaseError } from "../snapshot/bolt/format.ts";
import { readDatabase, type DatabaseFacts } from "./database.ts";
import { LogDamaged, readLog, type LogFacts } from "./wal/log.ts";

export type DirectoryFacts =
  /** No log: it was never started, or it was wiped. */
  | { readonly state: "empty" }
  /** etcd could not start from it. */
  | { readonly state: "damaged"; readonly why: string; readonly log?: LogFacts }
  | { readonly state: "data"; readonly log: LogFacts; readonly database: DatabaseFacts };

/** `dataDir` is what etcd gets as `--data-dir`; `walDir` what it gets as `--wal-dir`, if anything. */
export async function inspectDirectory(
  disk: Disk,
  dataDir: string,
  walDir = path.join(dataDir, "member", "wal"),
): Promise<DirectoryFacts> {
  const snapshots = path.join(dataDir, "member", "snap");
  let log: LogFacts | undefined;
  try {
    log = await readLog(disk, walDir, snapshots);
  } catch (error) {
    if (error instanceof LogDamaged)
      return { state: "damaged", why: `its write-ahead log cannot be used: ${error.message}` };
    throw error;
  }
  if (log === undefined) return { state: "empty" };
  try {
    const database = await readDatabase(disk, path.join(snapshots, "db"));
    return database === undefined
      ? { state: "damaged", why: "its database (member/snap/db) is missing", log }
      : { state: "data", log, database };
  } catch (error) {
    if (error instanceof DatabaseError)
      return { state: "damaged", why: `its database cannot be read: ${error.message}`, log };
    throw error;
  }
}
