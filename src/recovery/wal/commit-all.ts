/**
 * Marks every entry of a log as committed, as the leader that this member could have become would. etcd's
 * `--force-new-cluster` drops the entries behind the commit index that the member had heard of, and among them may be
 * writes that a quorum had acknowledged (R54). Only ever done to a copy that nothing else starts from.
 */
import path from "node:path";
import type { Disk } from "../../seams/disk.ts";
import { crc32c } from "./crc32c.ts";
import { frameOf, hardStateBytes } from "./frame.ts";
import { LogDamaged, readLog, SEGMENT } from "./log.ts";
import { RecordType } from "./messages.ts";
import { SegmentReader } from "./segment.ts";

const BLOCK = 4 * 1024 * 1024;

export async function commitAll(disk: Disk, directory: string, snapshots: string): Promise<void> {
  const log = await readLog(disk, directory, snapshots);
  if (log === undefined) throw new LogDamaged("there is none");
  const segments = (await disk.list(directory)).filter((name) => SEGMENT.test(name));
  const reader = new SegmentReader(disk, () => undefined);
  let offset = 0;
  for (const [index, segment] of segments.entries())
    ({ offset } = await reader.read(path.join(directory, segment), index === segments.length - 1));
  const file = path.join(directory, segments.at(-1) ?? "");
  if (log.torn) await clear(disk, file, offset);
  const data = hardStateBytes({ ...log.state, commit: Math.max(log.state.commit, log.last.index) });
  await disk.overwrite(
    file,
    offset,
    frameOf({ type: RecordType.state, crc: crc32c(data, reader.crc), data }),
  );
}

/** What etcd itself does with a record that was not written whole. */
async function clear(disk: Disk, file: string, from: number): Promise<void> {
  const size = (await disk.stat(file))?.size ?? 0;
  for (let at = from; at < size; at += BLOCK)
    await disk.overwrite(file, at, new Uint8Array(Math.min(BLOCK, size - at)));
}
