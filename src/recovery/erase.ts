/**
 * Deletes the directory of a member that has left, on the node that has it. What is deleted cannot be brought back, so
 * the directory has to show that it is the one that was meant; any other is left as it is.
 */
import * as fs from "node:fs/promises";
import path from "node:path";
import type { Disk } from "../seams/disk.ts";
import { isNodeWorkDir, recoveriesOn } from "./places.ts";
import { LogDamaged, readLog } from "./wal/log.ts";

export interface EraseOptions {
  readonly disk: Disk;
  /** The directory of one member, which has its `data` in it. */
  readonly directory: string;
  /** That the name of the directory ends with: of the record that it was made for. */
  readonly uid: string;
  /** As etcd has them, in hexadecimal, if they are known. */
  readonly clusterID?: string | undefined;
  readonly memberID?: string | undefined;
  /** If it is known: the directory above has its name and this UID, and goes with the last member in it. */
  readonly clusterUID?: string | undefined;
}

/** The reason of a refusal, as it is reported: another attempt would end the same way. */
export const ERASE_REFUSED = "EraseRefused";

/** It is not the directory that was meant, and was left as it is. */
export class EraseRefused extends Error {
  override name = "EraseRefused";
}

/** Repeating it is harmless: what is gone is gone. */
export async function eraseDirectory(options: EraseOptions): Promise<"erased" | "absent"> {
  const done = await eraseMember(options);
  await eraseIfEmpty(path.dirname(options.directory), options.clusterUID);
  return done;
}

async function eraseMember(options: EraseOptions): Promise<"erased" | "absent"> {
  const { disk, directory, uid } = options;
  const refused = (why: string) => new EraseRefused(`${directory} was not deleted: ${why}`);
  const name = path.basename(directory);
  if (uid === "" || (name !== uid && !name.endsWith(`.${uid}`)))
    throw refused(`its name does not end with the UID of the member, ${uid}`);
  const found = await entryAt(directory);
  if (found === undefined) return "absent";
  if (!found.isDirectory()) throw refused("it is not a directory");
  const parent = await fs.lstat(path.dirname(directory));
  if (parent.dev !== found.dev) throw refused("another file system is mounted there");
  const identity = await identityIn(disk, path.join(directory, "data"));
  for (const id of ["clusterID", "memberID"] as const) {
    const [wanted, has] = [options[id], identity?.[id]];
    if (wanted !== undefined && has !== undefined && wanted !== has)
      throw refused(
        `its data is of the etcd ${id === "clusterID" ? "cluster" : "member"} ${has}, not ${wanted}`,
      );
  }
  const recoveries = recoveriesOn(directory);
  const recovered = (await disk.list(recoveries)).find(isNodeWorkDir);
  if (recovered !== undefined)
    throw refused(
      `an etcd may serve from ${path.join(recoveries, recovered)} (quorate recover node): delete that first if it is not needed any more`,
    );
  await disk.remove(directory);
  return "erased";
}

/** With rmdir, which takes neither files nor links nor mounts. An empty directory that stays is no failure. */
async function eraseIfEmpty(directory: string, uid: string | undefined): Promise<void> {
  if (uid === undefined || uid === "" || !path.basename(directory).endsWith(`.${uid}`)) return;
  await fs.rmdir(directory).catch(() => undefined);
}

async function entryAt(target: string) {
  try {
    return await fs.lstat(target);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw error;
  }
}

/** A member may have left because its log is damaged: then its name has to do. */
async function identityIn(disk: Disk, dataDir: string) {
  try {
    return await readLog(disk, path.join(dataDir, "member", "wal"), path.join(dataDir, "member", "snap"));
  } catch (error) {
    if (error instanceof LogDamaged) return undefined;
    throw error;
  }
}
