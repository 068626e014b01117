/** What a report holds of a cluster on this machine beyond its objects: the logs of its members. */
import { systemDisk } from "../../seams/disk.ts";
import type { LocalTarget } from "../target/local.ts";
import type { ClusterObject } from "../target/target.ts";
import type { Part } from "./parts.ts";

const BYTES_PER_LINE = 300;

export async function localParts(
  target: LocalTarget,
  cluster: ClusterObject,
  tailLines: number,
): Promise<readonly Part[]> {
  const { layout } = await target.placeOf(cluster.metadata.name);
  const members = await target.members(cluster);
  return members.map(({ metadata: { name } }) => ({
    path: `logs/${name}.log`,
    read: () => systemDisk.tail(layout.logOf(name), tailLines * BYTES_PER_LINE),
  }));
}
