/**
 * Where the controller of a cluster listens: in the cluster's directory, or, where that path is too long for a socket,
 * in a directory that only this user can enter. In a shared one, others could take the name first.
 */
import { lstat, mkdir } from "node:fs/promises";
import os from "node:os";
import path from "node:path";
import { shortHash } from "../../core/template/hash.ts";
import { DirectoryRefused } from "../../local/create.ts";

/** Unix sockets have short names: 107 bytes on Linux, 103 elsewhere. */
const LONGEST_SOCKET = 100;

export async function socketPath(
  dir: string,
  runtimeDir: string | undefined,
  tmp = os.tmpdir(),
): Promise<string> {
  const usual = path.join(dir, "control.sock");
  if (Buffer.byteLength(usual) <= LONGEST_SOCKET) return usual;
  const { uid } = os.userInfo();
  const folder = path.join(runtimeDir || tmp, `quorate-${uid}`);
  await mkdir(folder, { mode: 0o700 }).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== "EEXIST") throw error;
  });
  const found = await lstat(folder);
  if (!found.isDirectory() || found.uid !== uid || (found.mode & 0o077) !== 0)
    throw new DirectoryRefused(
      `${folder} must be a directory that only you can enter, because the controller's socket goes there. Remove it, set XDG_RUNTIME_DIR to a private directory, or use a shorter --dir`,
    );
  return path.join(folder, `${shortHash(dir)}.sock`);
}
