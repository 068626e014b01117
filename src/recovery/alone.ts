/** Whether a member was ever started alone by `quorate recover node`: its data lives on elsewhere then. */
import path from "node:path";
import { DiskError, type Disk } from "../seams/disk.ts";
import { isNodeWorkDir } from "./places.ts";

/**
 * The data of that etcd, below `workBase`; undefined where there is none. What this user may not look into was made by
 * another one, as `quorate recover node` does, and cannot be ruled out.
 */
export async function startedAlone(disk: Disk, workBase: string): Promise<string | undefined> {
  try {
    for (const name of await disk.list(workBase)) {
      const data = path.join(workBase, name, "data");
      if (isNodeWorkDir(name) && (await disk.stat(data))) return data;
    }
    return undefined;
  } catch (error) {
    if (error instanceof DiskError && error.reason === "denied") return error.path;
    throw error;
  }
}
