/**
 * A directory as a store (also NFS and mounted volumes). An object is written beside its name, flushed to the disk and
 * linked to its name, which fails when the name is taken; files are for this user alone.
 */
import type { Dirent } from "node:fs";
import * as fs from "node:fs/promises";
import path from "node:path";
import { pathToFileURL } from "node:url";
import { hex, type Random } from "../../seams/random.ts";
import {
  isStoreError,
  requireName,
  StoreError,
  type Leftover,
  type PutOptions,
  type Range,
  type Store,
  type StoredObject,
  type StoreErrorKind,
} from "./store.ts";

const PARTIAL = ".partial";
/** `.<name>.<8 hexadecimal digits>.partial` */
const STAGED = /^\.(.+)\.[0-9a-f]{8}\.partial$/;
const READ_BYTES = 1024 * 1024;

const KINDS: Readonly<Record<string, readonly [StoreErrorKind, string]>> = {
  ENOSPC: ["full", "the disk is full; free some space or use another directory"],
  EDQUOT: ["full", "the disk quota is used up; free some space or use another directory"],
  EFBIG: ["full", "the file system takes no file of this size; use another directory"],
  EACCES: ["denied", "permission denied; use a directory that you may write to"],
  EPERM: ["denied", "permission denied; use a directory that you may write to"],
  EROFS: ["denied", "the file system is read-only; use another directory"],
  ENOTDIR: ["no-place", "a part of the path is a file, not a directory; check the path"],
  EEXIST: ["no-place", "a part of the path is a file, not a directory; check the path"],
  ENOENT: ["not-found", "there is no such file; check the name with `snapshot ls`"],
  EISDIR: ["invalid", "it is a directory, not a file; check the name"],
  ESTALE: ["unreachable", "the network file system does not answer; mount it again"],
  EIO: ["failed", "the disk reports an input/output error; check it and use another one"],
};

export class FileStore implements Store {
  readonly uri: string;
  readonly #root: string;
  readonly #random: Random;

  constructor(root: string, random: Random) {
    this.#root = path.resolve(root);
    this.uri = `${pathToFileURL(this.#root).href.replace(/\/$/, "")}/`;
    this.#random = random;
  }

  /** The file of an object, for programs that read it themselves. */
  path(name: string): string {
    return path.join(this.#root, ...requireName(name).split("/"));
  }

  async put(name: string, body: AsyncIterable<Uint8Array>, options: PutOptions): Promise<void> {
    const target = this.path(name);
    const staged = path.join(
      path.dirname(target),
      `.${path.basename(target)}.${hex(this.#random, 4)}${PARTIAL}`,
    );
    await doing("write", target, async () => {
      await fs.mkdir(path.dirname(target), { recursive: true, mode: 0o700 });
      if (options.ifAbsent && (await exists(target))) throw taken(target);
      try {
        await write(staged, body, options.signal);
        options.signal.throwIfAborted();
        if (options.ifAbsent) await linkOnce(staged, target);
        else await fs.rename(staged, target);
      } finally {
        await fs.rm(staged, { force: true });
      }
      await syncDirectory(path.dirname(target));
    });
  }

  async *get(
    name: string,
    { signal, range }: { readonly signal: AbortSignal; readonly range?: Range },
  ): AsyncGenerator<Uint8Array> {
    const file = this.path(name);
    const handle = await doing("read", file, () => fs.open(file, "r"));
    try {
      let at = range?.start ?? 0;
      let left = range?.length ?? Infinity;
      const buffers = [0, 1, 2].map(() => Buffer.allocUnsafeSlow(READ_BYTES));
      for (let turn = 0; left > 0; turn++) {
        signal.throwIfAborted();
        const buffer = buffers[turn % buffers.length] as Buffer;
        const length = Math.min(left, READ_BYTES);
        const { bytesRead } = await doing("read", file, () => handle.read(buffer, 0, length, at));
        if (bytesRead === 0) return;
        yield buffer.subarray(0, bytesRead);
        at += bytesRead;
        left -= bytesRead;
      }
    } finally {
      await handle.close();
    }
  }

  async head(name: string): Promise<StoredObject | undefined> {
    const file = this.path(name);
    return await doing("look at", file, async () => {
      try {
        const found = await fs.stat(file);
        return found.isFile() ? { name, size: found.size, modifiedAt: found.mtime } : undefined;
      } catch (error) {
        if (codeOf(error) === "ENOENT") return undefined;
        throw error;
      }
    });
  }

  async *list(prefix: string, signal: AbortSignal): AsyncGenerator<StoredObject> {
    if (!(await exists(this.#root)))
      throw new StoreError("no-place", `there is no directory ${this.#root}; check the path`);
    yield* this.#walk("", prefix, signal);
  }

  async delete(name: string): Promise<void> {
    const file = this.path(name);
    await doing("delete", file, async () => {
      await fs.rm(file, { force: true });
      await syncDirectory(path.dirname(file)).catch(() => undefined);
    });
  }

  async *leftovers(folder: string, signal: AbortSignal): AsyncGenerator<Leftover> {
    const directory = path.join(this.#root, folder);
    const names = await doing("list", directory, () => fs.readdir(directory)).catch(noneInNoPlace);
    for (const staged of names.toSorted()) {
      signal.throwIfAborted();
      const of = STAGED.exec(staged)?.[1];
      const found = of === undefined ? undefined : await this.head(`${folder}${staged}`);
      if (of !== undefined && found !== undefined) yield { ...found, of: `${folder}${of}` };
    }
  }

  async *#walk(folder: string, prefix: string, signal: AbortSignal): AsyncGenerator<StoredObject> {
    signal.throwIfAborted();
    const directory = path.join(this.#root, folder);
    const entries = await doing("list", directory, () => fs.readdir(directory, { withFileTypes: true }));
    for (const entry of entries.toSorted(byName)) {
      if (entry.name.startsWith(".")) continue;
      const name = folder === "" ? entry.name : `${folder}/${entry.name}`;
      if (entry.isDirectory()) {
        if (prefix.startsWith(`${name}/`) || name.startsWith(prefix)) yield* this.#walk(name, prefix, signal);
      } else if (entry.isFile() && name.startsWith(prefix)) {
        const found = await this.head(name);
        if (found !== undefined) yield found;
      }
    }
  }
}

/** One write is under way while the next block is made. */
async function write(file: string, body: AsyncIterable<Uint8Array>, signal: AbortSignal): Promise<void> {
  const handle = await fs.open(file, "wx", 0o600);
  let writing: Promise<unknown> = Promise.resolve();
  try {
    for await (const block of body) {
      await writing;
      signal.throwIfAborted();
      writing = writeWhole(handle, block);
      // Awaited in the next turn; a failure before then must not end the process.
      writing.catch(() => undefined);
    }
    await writing;
    await handle.sync();
  } finally {
    await writing.catch(() => undefined);
    await handle.close();
  }
}

async function writeWhole(handle: fs.FileHandle, block: Uint8Array): Promise<void> {
  for (let written = 0; written < block.length;) {
    const { bytesWritten } = await handle.write(block, written, block.length - written);
    written += bytesWritten;
  }
}

/** A hard link fails when the name is taken, which a rename does not. */
async function linkOnce(staged: string, target: string): Promise<void> {
  try {
    await fs.link(staged, target);
  } catch (error) {
    if (codeOf(error) === "EEXIST") throw taken(target);
    if (!["EPERM", "ENOTSUP", "EOPNOTSUPP", "ENOSYS", "EMLINK"].includes(codeOf(error) ?? "")) throw error;
    // A file system without hard links: look, then rename.
    if (await exists(target)) throw taken(target);
    await fs.rename(staged, target);
  }
}

function taken(target: string): StoreError {
  return new StoreError("exists", `${target} exists already and is not overwritten; use another name`);
}

async function exists(target: string): Promise<boolean> {
  try {
    await fs.stat(target);
    return true;
  } catch (error) {
    if (codeOf(error) === "ENOENT") return false;
    throw error;
  }
}

async function syncDirectory(directory: string): Promise<void> {
  const handle = await fs.open(directory, "r");
  try {
    await handle.sync();
  } catch (error) {
    // Some file systems cannot sync a directory, and then it need not be done.
    if (codeOf(error) !== "EINVAL" && codeOf(error) !== "ENOTSUP") throw error;
  } finally {
    await handle.close();
  }
}

async function doing<T>(what: string, target: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    const code = codeOf(error);
    if (code === undefined || !(error instanceof Error) || !("syscall" in error)) throw error;
    const [kind, next] = KINDS[code] ?? ["failed", `the operating system refused it (${code})`];
    throw new StoreError(kind, `cannot ${what} ${target}: ${next}`, { cause: error });
  }
}

function noneInNoPlace(error: unknown): string[] {
  if (isStoreError(error, "not-found", "no-place")) return [];
  throw error;
}

function byName(a: Dirent, b: Dirent): number {
  return a.name < b.name ? -1 : 1;
}

function codeOf(error: unknown): string | undefined {
  return (error as NodeJS.ErrnoException | undefined)?.code;
}
