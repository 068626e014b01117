/**
 * The disks of real nodes: files that hold an ext4 of their true size. They are made here, outside the nodes, as
 * a cloud makes disks; the CSI driver on the node mounts and grows them.
 */
import { execFile } from "node:child_process";
import { existsSync, mkdirSync, renameSync, rmSync, truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import type { Backing } from "../kubelet/storage.ts";
import { programPath } from "./world.ts";

const run = promisify(execFile);
/** Below this there is no room for a journal. */
const SMALLEST = 16 * 2 ** 20;

export function diskImages(dir: string): Backing {
  const path = (volume: string) => join(dir, `${volume}.img`);
  return {
    grownByKubelet: true,
    remove: (volume) => rmSync(path(volume), { force: true }),
    async create(volume, bytes) {
      if (existsSync(path(volume))) return;
      mkdirSync(dir, { recursive: true });
      const work = `${path(volume)}.new`;
      writeFileSync(work, "");
      truncateSync(work, Math.max(bytes, SMALLEST));
      const options = ["-q", "-F", "-m", "0", "-E", "lazy_itable_init=1,lazy_journal_init=1,nodiscard"];
      await run("mkfs.ext4", [...options, work], { env: { PATH: programPath() } });
      renameSync(work, path(volume));
    },
  };
}
