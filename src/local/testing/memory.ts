/** Seams in memory, for unit tests of this folder. */
/* oxlint-disable typescript/require-await -- the seams are asynchronous, memory is not. */
import path from "node:path";
import type { Clock } from "../../seams/clock.ts";
import type { Disk } from "../../seams/disk.ts";
import type { Random } from "../../seams/random.ts";

/** Files as a map; a directory is there when it was made or something lies in it. */
export class MemoryDisk implements Disk {
  readonly files = new Map<string, Uint8Array>();
  readonly directories = new Set<string>();

  async read(file: string): Promise<string | undefined> {
    const bytes = this.files.get(file);
    return bytes && Buffer.from(bytes).toString("utf8");
  }
  async write(file: string, text: string): Promise<void> {
    this.files.set(file, Buffer.from(text));
  }
  async create(file: string, text: string): Promise<boolean> {
    if (this.files.has(file)) return false;
    await this.write(file, text);
    return true;
  }
  async makeDirectory(directory: string): Promise<void> {
    for (let at = directory; at !== path.dirname(at); at = path.dirname(at)) this.directories.add(at);
  }
  async list(directory: string): Promise<readonly string[]> {
    const inside = [...this.files.keys(), ...this.directories]
      .filter((name) => name.startsWith(`${directory}/`))
      .map((name) => name.slice(directory.length + 1).split("/")[0] ?? "");
    return [...new Set(inside)].toSorted((a, b) => (a < b ? -1 : 1));
  }
  async rename(from: string, to: string): Promise<void> {
    for (const [name, bytes] of this.files) {
      if (name !== from && !name.startsWith(`${from}/`)) continue;
      this.files.delete(name);
      this.files.set(to + name.slice(from.length), bytes);
    }
    for (const name of this.directories) {
      if (name !== from && !name.startsWith(`${from}/`)) continue;
      this.directories.delete(name);
      this.directories.add(to + name.slice(from.length));
    }
  }
  async remove(target: string): Promise<void> {
    const doomed = (name: string) => name === target || name.startsWith(`${target}/`);
    for (const name of this.files.keys()) if (doomed(name)) this.files.delete(name);
    for (const name of this.directories) if (doomed(name)) this.directories.delete(name);
  }
  async stat(target: string): Promise<{ kind: "file" | "directory"; size: number } | undefined> {
    const bytes = this.files.get(target);
    if (bytes) return { kind: "file", size: bytes.length };
    const isDirectory = this.directories.has(target) || (await this.list(target)).length > 0;
    return isDirectory ? { kind: "directory", size: 0 } : undefined;
  }
  async readBytes(file: string, offset: number, length: number): Promise<Uint8Array> {
    return (this.files.get(file) ?? new Uint8Array(0)).slice(offset, offset + length);
  }
  async overwrite(file: string, offset: number, bytes: Uint8Array): Promise<void> {
    this.files.get(file)?.set(bytes, offset);
  }
  async tail(file: string, bytes: number): Promise<string> {
    const all = this.files.get(file) ?? new Uint8Array(0);
    return Buffer.from(all.subarray(Math.max(0, all.length - bytes))).toString("utf8");
  }
}

/** A clock that stands until it is moved. Timers fire when the time is passed. */
export class StillClock implements Clock {
  #now = 1_000_000;
  readonly #timers = new Set<{ at: number; fire: () => void }>();

  now(): number {
    return this.#now;
  }
  monotonic(): number {
    return this.#now;
  }
  timer(ms: number, fire: () => void): { cancel(): void } {
    const timer = { at: this.#now + ms, fire };
    this.#timers.add(timer);
    return { cancel: () => this.#timers.delete(timer) };
  }
  advance(ms: number): void {
    this.#now += ms;
    for (const timer of this.#timers) {
      if (timer.at > this.#now) continue;
      this.#timers.delete(timer);
      timer.fire();
    }
  }
}

/** 1, 2, 3, … */
export function countingRandom(): Random {
  let next = 0;
  return { bytes: (length) => new Uint8Array(length).fill(++next) };
}
