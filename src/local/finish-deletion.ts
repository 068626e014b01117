/** What is left of a cluster that was deleted: the volumes that its retention keeps, and its snapshots, which outlive it. */
import type { Disk } from "../seams/disk.ts";
import type { Layout } from "./layout.ts";

/** All else goes; the cluster's own file is the caller's to remove, last. */
export async function removeRest(disk: Disk, layout: Layout, generated: readonly string[]): Promise<void> {
  const { members, operations, users, roles, config, run, pki, logs, volumes, recoveries } = layout;
  for (const part of [members, operations, users, roles, ...generated, config, run, pki, logs])
    await disk.remove(part);
  // What was rescued is kept with the volumes that it was rescued from.
  if ((await disk.list(volumes)).length > 0) return;
  for (const part of [volumes, recoveries]) await disk.remove(part);
}
