/**
 * The disks of real nodes: files that hold an ext4, and beside each its size in bytes. They are made here, outside
 * the nodes, as a cloud makes disks; the CSI driver on the node mounts them and holds them to their size. The
 * file system is larger, so that the size can grow while it is mounted.
 */
import { execFile } from "node:child_process";
import { existsSync, mkdirSync, renameSync, rmSync, truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import type { Backing } from "../kubelet/storage.ts";
import { programPath } from "./world.ts";

const run = promisify(execFile);
/** How far a disk can be expanded. Files of that size take no room until something is written. */
const room = (bytes: number) => Math.max(4 * bytes, bytes + 2 ** 30);

export function diskImages(dir: string): Backing {
  const path = (volume: string) => join(dir, `${volume}.img`);
  const size = (volume: string) => join(dir, `${volume}.size`);
  return {
    grownByKubelet: true,
    remove(volume) {
      rmSync(path(volume), { force: true });
      rmSync(size(volume), { force: true });
    },
    async create(volume, bytes) {
      if (existsSync(path(volume))) return;
      mkdirSync(dir, { recursive: true });
      const work = `${path(volume)}.new`;
      writeFileSync(work, "");
      truncateSync(work, room(bytes));
      writeFileSync(size(volume), String(bytes));
      const options = ["-q", "-F", "-m", "0", "-E", "lazy_itable_init=1,lazy_journal_init=1,nodiscard"];
      await run("mkfs.ext4", [...options, work], { env: { PATH: programPath() } });
      renameSync(work, path(volume));
    },
  };
}
