/**
 * A restore in steps that containers take one after the other on one volume: the snapshot is staged in a directory of
 * its own, etcdutl restores it beside, and the result is put in its place. Every step may be repeated.
 */
import path from "node:path";
import { RESTORE_FAULTS, type RestoreFault } from "../api/bootstrap.ts";
import type { Disk } from "../seams/disk.ts";
import { fetchForRestore, SNAPSHOT_FILE, type FetchOptions } from "./fetch.ts";
import type { SnapshotFacts } from "./inspect.ts";
import { jsonObject } from "./json-object.ts";
import { RestoreError } from "./restore-error.ts";

/** On the volume; the names are those that the operator gives to etcdutl. */
const STAGE = "restore";
const RESTORED = path.join(STAGE, "data");
const DATA = "data";
const LOG = path.join("member", "wal");

export interface StageOptions extends Omit<FetchOptions, "directory"> {
  readonly volume: string;
}

/** Fetches and checks the snapshot. What an earlier attempt left beside it is removed; the data of the member is not. */
export async function stageSnapshot(options: StageOptions): Promise<SnapshotFacts> {
  const { volume, context } = options;
  const directory = path.join(volume, STAGE);
  await context.disk.remove(directory);
  return await fetchForRestore({ ...options, directory });
}

/** Puts what etcdutl made in its place, unless there is data; and removes all that a restore needed. */
export async function placeRestored(volume: string, disk: Disk): Promise<"placed" | "there"> {
  const [data, restored, stage] = [DATA, RESTORED, STAGE].map((name) => path.join(volume, name)) as [
    string,
    string,
    string,
  ];
  const isThere = await hasLog(disk, data);
  if (!isThere) {
    if (!(await hasLog(disk, restored)))
      throw new RestoreError("failed", `${restored} holds no data directory: etcdutl did not finish`);
    await disk.rename(restored, data);
  }
  await disk.remove(stage);
  return isThere ? "there" : "placed";
}

async function hasLog(disk: Disk, dataDir: string): Promise<boolean> {
  return (await disk.list(path.join(dataDir, LOG))).length > 0;
}

/** What was fetched, for who asked for it: the termination message of its container. */
export type StagedFile = Pick<SnapshotFacts, "size" | "sha256"> & { readonly revision: number };

/** On the volume, where `stageSnapshot` leaves it. */
export const STAGED_FILE = path.posix.join(STAGE, SNAPSHOT_FILE);

export function writeStaged({ size, sha256, database: { revision } }: SnapshotFacts): string {
  return JSON.stringify({ staged: { size, sha256, revision } satisfies StagedFile });
}

/** Undefined for anything else. */
export function readStaged(text: string): StagedFile | undefined {
  const { staged } = jsonObject(text) ?? {};
  if (typeof staged !== "object" || staged === null) return undefined;
  const { size, sha256, revision } = staged as Record<string, unknown>;
  const isCount = (value: unknown): value is number => Number.isSafeInteger(value) && Number(value) >= 0;
  if (typeof sha256 !== "string" || !/^[0-9a-f]{64}$/.test(sha256)) return undefined;
  return isCount(size) && isCount(revision) ? { size, sha256, revision } : undefined;
}

/** Why a step failed, as the termination message of its container: 4096 bytes at most. */
export function writeFailure({ fault, message }: RestoreError): string {
  return JSON.stringify({ fault, message: message.slice(0, 900) });
}

/** Undefined for anything else: a container can end with any words. */
export function readFailure(text: string): { fault: RestoreFault; message: string } | undefined {
  const { fault, message } = jsonObject(text) ?? {};
  const known = RESTORE_FAULTS.find((one) => one === fault);
  return known && typeof message === "string" ? { fault: known, message } : undefined;
}
