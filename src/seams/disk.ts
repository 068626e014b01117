/**
 * Files as a port: small texts written whole and durably, directories, and nothing that a model could not
 * do in memory. A write is atomic and on the disk when it returns, because the member records live here.
 */
import { constants } from "node:fs";
import * as fs from "node:fs/promises";
import path from "node:path";

export interface DiskEntry {
  readonly kind: "file" | "directory" | "other";
  readonly size: number;
}

export interface WriteOptions {
  /** For this user only. */
  readonly private?: boolean;
  /** A file of the person's own: what a symbolic link leads to is replaced; its owner and mode stay. */
  readonly inPlace?: boolean;
}

export interface Disk {
  /** The text of a file; undefined when there is none. */
  read(file: string): Promise<string | undefined>;
  /** Replaces a file as a whole: a reader, or a crash, sees the old text or the new one. */
  write(file: string, text: string, options?: WriteOptions): Promise<void>;
  /** Makes a file that must not exist yet; false when it does. */
  create(file: string, text: string): Promise<boolean>;
  /** Makes a directory and those above it, for this user only. */
  makeDirectory(directory: string): Promise<void>;
  /** Names in a directory, sorted; empty when there is none. */
  list(directory: string): Promise<readonly string[]>;
  rename(from: string, to: string): Promise<void>;
  /** Removes a file, or a directory with all that is in it; nothing happens when it is not there. */
  remove(target: string): Promise<void>;
  stat(target: string): Promise<DiskEntry | undefined>;
  /** A part of a file; shorter than asked for at its end, empty when there is none. */
  readBytes(file: string, offset: number, length: number): Promise<Uint8Array>;
  /** Overwrites bytes in the middle of a file, for breaking things on purpose. */
  overwrite(file: string, offset: number, bytes: Uint8Array): Promise<void>;
  /** The last `bytes` of a file as text; empty when there is none. */
  tail(file: string, bytes: number): Promise<string>;
}

export type DiskErrorReason = "full" | "denied" | "read-only" | "not-a-directory" | "failed";

/** What could not be done, to which file, and what a person can do about it. */
export class DiskError extends Error {
  override name = "DiskError";
  readonly reason: DiskErrorReason;
  readonly path: string;
  constructor(reason: DiskErrorReason, target: string, doing: string, options?: ErrorOptions) {
    const code = reason === "failed" ? codeOf(options?.cause) : undefined;
    super(`cannot ${doing} ${target}: ${ADVICE[reason]}${code === undefined ? "" : ` (${code})`}`, options);
    this.reason = reason;
    this.path = target;
  }
}

const ADVICE: Readonly<Record<DiskErrorReason, string>> = {
  full: "the disk is full; free some space, or use a directory on another disk",
  denied: "permission denied; use a directory you own",
  "read-only": "the file system is read-only; use another directory",
  "not-a-directory": "something in its path is a file, not a directory",
  failed: "the operating system refused it",
};

const REASONS: Readonly<Record<string, DiskErrorReason>> = {
  ENOSPC: "full",
  EDQUOT: "full",
  EACCES: "denied",
  EPERM: "denied",
  EROFS: "read-only",
  ENOTDIR: "not-a-directory",
  EEXIST: "not-a-directory",
};

export const systemDisk: Disk = {
  read: (file) => doing("read", file, async () => await unlessMissing(fs.readFile(file, "utf8"), undefined)),
  write: (file, text, options) =>
    doing("write", file, async () => {
      const target = options?.inPlace === true ? await unlessMissing(fs.realpath(file), file) : file;
      // Beside the target, so that the rename stays within one file system; one writer per directory.
      const staged = path.join(path.dirname(target), `.${path.basename(target)}.new`);
      await writeSynced(staged, text, "w", options?.private === true ? 0o600 : 0o644);
      if (options?.inPlace === true) await keepOwner(target, staged);
      await fs.rename(staged, target);
      await syncDirectory(path.dirname(target));
    }),
  create: (file, text) =>
    doing("create", file, async () => {
      try {
        await writeSynced(file, text, "wx", 0o600);
        return true;
      } catch (error) {
        if (codeOf(error) === "EEXIST") return false;
        throw error;
      }
    }),
  makeDirectory: (directory) =>
    doing("create the directory", directory, () => makeDirectories(path.resolve(directory))),
  list: (directory) =>
    doing("list", directory, async () =>
      (await unlessMissing(fs.readdir(directory), [])).toSorted((a, b) => (a < b ? -1 : 1)),
    ),
  rename: (from, to) =>
    doing("rename", from, async () => {
      await fs.rename(from, to);
      await syncDirectory(path.dirname(to));
    }),
  remove: (target) =>
    doing("remove", target, async () => await fs.rm(target, { recursive: true, force: true })),
  stat: (target) =>
    doing("look at", target, async () => {
      const found = await unlessMissing(fs.stat(target), undefined);
      if (found === undefined) return undefined;
      const kind = found.isFile() ? "file" : found.isDirectory() ? "directory" : "other";
      return { kind, size: found.size };
    }),
  overwrite: (file, offset, bytes) =>
    doing("overwrite", file, async () => {
      await using handle = await fs.open(file, constants.O_RDWR);
      await handle.write(bytes, 0, bytes.length, offset);
      await handle.sync();
    }),
  readBytes: (file, offset, length) => doing("read", file, () => readPart(file, () => offset, length)),
  tail: (file, bytes) =>
    doing("read", file, async () => {
      const part = await readPart(file, (size) => Math.max(0, size - bytes), bytes);
      return Buffer.from(part).toString("utf8");
    }),
};

async function readPart(file: string, from: (size: number) => number, length: number): Promise<Uint8Array> {
  const handle = await unlessMissing(fs.open(file, "r"), undefined);
  if (handle === undefined) return new Uint8Array(0);
  try {
    const { size } = await handle.stat();
    const offset = from(size);
    const buffer = new Uint8Array(Math.max(0, Math.min(length, size - offset)));
    const { bytesRead } = await handle.read(buffer, 0, buffer.length, offset);
    return buffer.subarray(0, bytesRead);
  } finally {
    await handle.close();
  }
}

/** Bytes that this user may still write where the directory lies, or will lie. */
export async function freeBytes(directory: string): Promise<number> {
  for (let at = path.resolve(directory); ; at = path.dirname(at)) {
    const found = await unlessMissing(fs.statfs(at), undefined);
    if (found) return found.bavail * found.bsize;
    if (at === path.dirname(at)) return 0;
  }
}

async function doing<T>(what: string, target: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (cause) {
    throw new DiskError(REASONS[codeOf(cause) ?? ""] ?? "failed", target, what, { cause });
  }
}

/** Not by mkdir's own `recursive`: where a parent takes no directories (as in /proc) that never ends. */
async function makeDirectories(directory: string, parentIsThere = false): Promise<void> {
  try {
    await fs.mkdir(directory, { mode: 0o700 });
  } catch (error) {
    if (codeOf(error) === "EEXIST" && (await fs.stat(directory)).isDirectory()) return;
    if (codeOf(error) !== "ENOENT" || parentIsThere) throw error;
    await makeDirectories(path.dirname(directory));
    await makeDirectories(directory, true);
  }
}

async function writeSynced(file: string, text: string, flag: "w" | "wx", mode: number): Promise<void> {
  await using handle = await fs.open(file, flag, mode);
  await handle.writeFile(text);
  await handle.sync();
}

/** As root, a file of another person's must not become root's. */
async function keepOwner(from: string, to: string): Promise<void> {
  const [old, own] = [await unlessMissing(fs.stat(from), undefined), await fs.stat(to)];
  if (!old) return;
  if (own.uid === 0 && (old.uid !== 0 || old.gid !== own.gid)) await fs.chown(to, old.uid, old.gid);
  await fs.chmod(to, old.mode & 0o777);
}

/** Makes a rename durable; some file systems cannot sync a directory, and then it need not be done. */
async function syncDirectory(directory: string): Promise<void> {
  const handle = await fs.open(directory, "r");
  try {
    await handle.sync();
  } catch (error) {
    if (codeOf(error) !== "EINVAL" && codeOf(error) !== "ENOTSUP") throw error;
  } finally {
    await handle.close();
  }
}

async function unlessMissing<T, U>(work: Promise<T>, otherwise: U): Promise<T | U> {
  try {
    return await work;
  } catch (error) {
    if (codeOf(error) === "ENOENT") return otherwise;
    throw error;
  }
}

function codeOf(error: unknown): string | undefined {
  return (error as NodeJS.ErrnoException | undefined)?.code;
}
