/**
 * A disk in memory: files, directories, and etcd's data as an object where its write-ahead log would lie, so
 * that whoever removes or renames the directory takes the data with it. Can be full or read-only, by path.
 */
import path from "node:path/posix";
import { DiskError, type Disk, type DiskEntry } from "../../src/seams/disk.ts";
import type { DataDir, DataDirs } from "../models/etcd/data-dir.ts";

/** The first file of a write-ahead log, as etcd names it. */
const WAL = "member/wal/0000000000000000-0000000000000000.wal";
const DATABASE = "member/snap/db";
const DATABASE_BYTES = 20_480;

interface File {
  text: string;
  data?: DataDir;
}

export class ModelDisk implements Disk {
  readonly #files = new Map<string, File>();
  readonly #directories = new Set<string>(["/"]);
  /** Nothing more fits below these. */
  readonly full = new Set<string>();
  /** Writes so far, so that "no writes when converged" can be seen (I7). */
  writes = 0;
  /** etcd made a data directory. */
  onData: (dir: DataDir) => void = () => {};

  // What the product sees.

  read(file: string): Promise<string | undefined> {
    return Promise.resolve(this.#files.get(file)?.text);
  }

  write(file: string, text: string): Promise<void> {
    return this.#attempt("write", file, () => this.#put(file, { text }));
  }

  create(file: string, text: string): Promise<boolean> {
    return this.#attempt("create", file, () => {
      if (this.#files.has(file)) return false;
      this.#put(file, { text });
      return true;
    });
  }

  makeDirectory(directory: string): Promise<void> {
    return this.#attempt("create the directory", directory, () => this.#makeDirectory(directory));
  }

  list(directory: string): Promise<readonly string[]> {
    const names = new Set<string>();
    const prefix = directory.endsWith("/") ? directory : `${directory}/`;
    for (const known of [...this.#files.keys(), ...this.#directories]) {
      if (known.startsWith(prefix) && known !== prefix)
        names.add(known.slice(prefix.length).split("/")[0] ?? "");
    }
    return Promise.resolve([...names].toSorted());
  }

  rename(from: string, to: string): Promise<void> {
    return this.#attempt("rename", from, () => {
      const file = this.#files.get(from);
      if (file === undefined && !this.#directories.has(from)) {
        throw new DiskError("failed", from, "rename");
      }
      this.#removeNow(to);
      this.#makeDirectory(path.dirname(to));
      for (const known of Array.from(this.#files.keys())) {
        const moved = under(known, from, to);
        const content = this.#files.get(known);
        if (moved === undefined || content === undefined) continue;
        this.#files.delete(known);
        this.#files.set(moved, content);
      }
      for (const known of Array.from(this.#directories)) {
        const moved = under(known, from, to);
        if (moved === undefined) continue;
        this.#directories.delete(known);
        this.#directories.add(moved);
      }
    });
  }

  remove(target: string): Promise<void> {
    this.writes++;
    this.#removeNow(target);
    return Promise.resolve();
  }

  stat(target: string): Promise<DiskEntry | undefined> {
    const file = this.#files.get(target);
    if (file) {
      const size = target.endsWith(DATABASE) ? DATABASE_BYTES : file.text.length;
      return Promise.resolve({ kind: "file", size });
    }
    return Promise.resolve(this.#directories.has(target) ? { kind: "directory", size: 0 } : undefined);
  }

  readBytes(file: string, offset: number, length: number): Promise<Uint8Array> {
    const text = this.#files.get(file)?.text ?? "";
    return Promise.resolve(Buffer.from(text).subarray(offset, offset + length));
  }

  overwrite(file: string): Promise<void> {
    return this.#attempt("overwrite", file, () => {
      const data = this.#files.get(file)?.data;
      if (data) data.corruption = 1 + data.corruption;
    });
  }

  tail(file: string, bytes: number): Promise<string> {
    const text = this.#files.get(file)?.text ?? "";
    return Promise.resolve(bytes <= 0 ? "" : text.slice(-bytes));
  }

  // What processes do to it.

  append(file: string, line: string): void {
    const before = this.#files.get(file);
    if (before) before.text += `${line}\n`;
    else this.#put(file, { text: `${line}\n` });
  }

  text(file: string): string | undefined {
    return this.#files.get(file)?.text;
  }

  // What the model etcd keeps on it.

  get dataDirs(): DataDirs {
    return {
      read: (dataDir) => this.dataAt(dataDir),
      write: (dataDir, data) => this.putData(dataDir, data),
      isFull: (dataDir) => this.isFull(dataDir),
    };
  }

  dataAt(dataDir: string): DataDir | undefined {
    return this.#files.get(path.join(dataDir, WAL))?.data;
  }

  putData(dataDir: string, data: DataDir): void {
    this.#put(path.join(dataDir, WAL), { text: "", data });
    this.#put(path.join(dataDir, DATABASE), { text: "", data });
    this.onData(data);
  }

  isFull(dataDir: string): boolean {
    return [...this.full].some((root) => dataDir === root || dataDir.startsWith(`${root}/`));
  }

  #attempt<T>(doing: string, target: string, act: () => T): Promise<T> {
    if (this.isFull(target)) return Promise.reject(new DiskError("full", target, doing));
    this.writes++;
    try {
      return Promise.resolve(act());
    } catch (error) {
      return Promise.reject(error instanceof Error ? error : new Error(String(error)));
    }
  }

  #put(file: string, content: File): void {
    this.#makeDirectory(path.dirname(file));
    this.#files.set(file, content);
  }

  #makeDirectory(directory: string): void {
    for (let at = directory; at !== "/" && at !== "."; at = path.dirname(at)) {
      if (this.#directories.has(at)) return;
      this.#directories.add(at);
    }
  }

  #removeNow(target: string): void {
    for (const known of this.#files.keys())
      if (under(known, target, "") !== undefined) this.#files.delete(known);
    for (const known of this.#directories) {
      if (under(known, target, "") !== undefined) this.#directories.delete(known);
    }
  }
}

/** `to` in place of `from`, for a path at or below it. */
function under(known: string, from: string, to: string): string | undefined {
  if (known === from) return to;
  return known.startsWith(`${from}/`) ? to + known.slice(from.length) : undefined;
}
