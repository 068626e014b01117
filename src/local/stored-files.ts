/** Objects as JSON files, each write whole or not at all, changes one after another. */
import path from "node:path";
import type { Disk } from "../seams/disk.ts";

/** Raised when a file changes in a way that an older program would misread. */
export const FORMAT = 1;

/** A file of ours that cannot be understood: never guessed at, never overwritten. */
export class DamagedFile extends Error {
  override name = "DamagedFile";
  constructor(file: string, why: string, options?: ErrorOptions) {
    super(
      `${file} ${why}; it was left unchanged. Restore it from a backup, or move the directory away`,
      options,
    );
  }
}

export class StoredFiles {
  readonly #disk: Disk;
  /** The last change that was asked for, failed or not. */
  #lastChange: Promise<unknown> = Promise.resolve();

  constructor(disk: Disk) {
    this.#disk = disk;
  }

  /** A change reads before it writes: what a person asks for while the controller writes would be lost. */
  inTurn<T>(change: () => Promise<T>): Promise<T> {
    const done = this.#lastChange.then(change);
    this.#lastChange = done.catch(() => undefined);
    return done;
  }

  /** The files of objects in a directory, by name. */
  async list(directory: string): Promise<string[]> {
    return (await this.#disk.list(directory)).filter(isObjectFile).map((file) => path.join(directory, file));
  }

  async read<T extends { format: number }>(file: string): Promise<T | undefined> {
    const text = await this.#disk.read(file);
    if (text === undefined) return undefined;
    let value: T;
    try {
      value = JSON.parse(text) as T;
    } catch (cause) {
      throw new DamagedFile(file, "is not JSON", { cause });
    }
    if (value?.format !== FORMAT) throw new DamagedFile(file, `does not have format ${FORMAT}`);
    return value;
  }

  async write(file: string, value: object): Promise<void> {
    await this.#disk.makeDirectory(path.dirname(file));
    await this.#disk.write(file, `${JSON.stringify(value, undefined, 2)}\n`, { private: true });
  }

  async remove(file: string): Promise<void> {
    await this.#disk.remove(file);
  }
}

function isObjectFile(name: string): boolean {
  return name.endsWith(".json") && !name.startsWith(".");
}
