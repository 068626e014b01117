/** For tests: a store in memory, and one that fails as real ones do. */
import {
  requireName,
  StoreError,
  type Leftover,
  type PutOptions,
  type Range,
  type Store,
  type StoredObject,
} from "../store/store.ts";

export class MemoryStore implements Store {
  readonly uri = "memory://";
  readonly objects = new Map<string, { bytes: Buffer; modifiedAt: Date }>();

  async put(name: string, body: AsyncIterable<Uint8Array>, { ifAbsent, signal }: PutOptions): Promise<void> {
    const taken = () => new StoreError("exists", `${name} exists already`);
    if (ifAbsent && this.objects.has(requireName(name))) throw taken();
    const parts: Uint8Array[] = [];
    for await (const part of body) parts.push(new Uint8Array(part));
    signal.throwIfAborted();
    if (ifAbsent && this.objects.has(name)) throw taken();
    this.objects.set(name, { bytes: Buffer.concat(parts), modifiedAt: new Date(0) });
  }

  async *get(name: string, { range }: { range?: Range }): AsyncGenerator<Uint8Array> {
    const found = this.objects.get(name);
    if (found === undefined) throw new StoreError("not-found", `there is no ${name}`);
    const start = range?.start ?? 0;
    const bytes = found.bytes.subarray(start, range?.length === undefined ? undefined : start + range.length);
    for (let at = 0; at < bytes.length; at += 10_000)
      yield await Promise.resolve(bytes.subarray(at, at + 10_000));
  }

  head(name: string): Promise<StoredObject | undefined> {
    const found = this.objects.get(name);
    return Promise.resolve(found && { name, size: found.bytes.length, modifiedAt: found.modifiedAt });
  }

  async *list(prefix: string): AsyncGenerator<StoredObject> {
    for (const name of [...this.objects.keys()].toSorted()) {
      const found = name.startsWith(prefix) ? await this.head(name) : undefined;
      if (found !== undefined) yield found;
    }
  }

  delete(name: string): Promise<void> {
    this.objects.delete(name);
    return Promise.resolve();
  }
}

export interface Faults {
  /** Ends a write after so many bytes. */
  cutWriteAt?: number;
  /** Ends a read after so many bytes, without an error: a connection that closed. */
  cutReadAt?: number;
  /** Turns a bit at this offset on the way out. */
  flipReadAt?: number;
  /** Hides names from listings, or shows names that are gone. */
  hideFromList?: ReadonlySet<string>;
  showInList?: readonly StoredObject[];
  /** The n-th next calls of delete fail. */
  failDeletes?: number;
}

export class FaultyStore extends MemoryStore {
  faults: Faults = {};
  /** What killed writes left. */
  readonly left: Leftover[] = [];

  async *leftovers(folder: string): AsyncGenerator<Leftover> {
    for (const leftover of this.left)
      if (leftover.of.slice(0, leftover.of.lastIndexOf("/") + 1) === folder)
        yield await Promise.resolve(leftover);
  }

  override async put(name: string, body: AsyncIterable<Uint8Array>, options: PutOptions): Promise<void> {
    await super.put(name, this.#cut(body, this.faults.cutWriteAt), options);
  }

  override async *get(name: string, options: { range?: Range }): AsyncGenerator<Uint8Array> {
    let at = 0;
    for await (const part of super.get(name, options)) {
      const copy = Buffer.from(part);
      const { flipReadAt, cutReadAt } = this.faults;
      if (flipReadAt !== undefined && flipReadAt >= at && flipReadAt < at + copy.length)
        copy[flipReadAt - at] = (copy[flipReadAt - at] ?? 0) ^ 1;
      if (cutReadAt !== undefined && at + copy.length > cutReadAt) {
        yield copy.subarray(0, cutReadAt - at);
        return;
      }
      at += copy.length;
      yield copy;
    }
  }

  override async *list(prefix: string): AsyncGenerator<StoredObject> {
    for await (const object of super.list(prefix))
      if (!this.faults.hideFromList?.has(object.name)) yield object;
    yield* this.faults.showInList ?? [];
  }

  override async delete(name: string): Promise<void> {
    if ((this.faults.failDeletes ?? 0) > 0) {
      this.faults.failDeletes = (this.faults.failDeletes ?? 0) - 1;
      throw new StoreError("unreachable", `${name} could not be deleted`);
    }
    await super.delete(name);
  }

  async *#cut(body: AsyncIterable<Uint8Array>, at: number | undefined): AsyncGenerator<Uint8Array> {
    let sent = 0;
    for await (const part of body) {
      sent += part.length;
      if (at !== undefined && sent > at) throw new StoreError("interrupted", `cut after ${at} bytes`);
      yield part;
    }
  }
}
