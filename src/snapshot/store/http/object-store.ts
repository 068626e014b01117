/**
 * What the stores that are asked by HTTP share: names below a prefix, lists in pages, and no name that is taken is
 * written. What differs is how a store is asked.
 */
import {
  requireName,
  StoreError,
  type PutOptions,
  type Range,
  type Store,
  type StoredObject,
} from "../store.ts";

export interface ReadOptions {
  readonly signal: AbortSignal;
  readonly range?: Range;
}

/** One object of the store: its name here, its key there, and what is done with it, for messages. */
export interface Addressed {
  readonly name: string;
  readonly key: string;
  /** `write s3://bucket/a.db`. */
  readonly doing: string;
}

/** A part of a list, with the keys of objects as their names. */
export interface Page {
  readonly objects: readonly StoredObject[];
  /** What asks for the next one; undefined or empty after the last. */
  readonly next: string | undefined;
}

export abstract class ObjectStore implements Store {
  readonly uri: string;
  readonly #prefix: string;

  /** `prefix`: before every name; empty, or with a slash at its end. */
  constructor(place: string, prefix: string) {
    this.uri = `${place}/${prefix}`;
    this.#prefix = prefix;
  }

  abstract get(name: string, options: ReadOptions): AsyncGenerator<Uint8Array>;
  abstract head(name: string, signal: AbortSignal): Promise<StoredObject | undefined>;
  abstract delete(name: string, signal: AbortSignal): Promise<void>;
  protected abstract upload(
    body: AsyncIterable<Uint8Array>,
    object: Addressed,
    options: PutOptions,
  ): Promise<void>;
  /** Objects whose keys begin with `prefix`. */
  protected abstract page(prefix: string, token: string | undefined, signal: AbortSignal): Promise<Page>;

  async put(name: string, body: AsyncIterable<Uint8Array>, options: PutOptions): Promise<void> {
    const object = this.address("write", name);
    // A store without conditional writes would overwrite it; and there is no need to send it all first.
    if (options.ifAbsent && (await this.head(name, options.signal)) !== undefined)
      throw new StoreError(
        "exists",
        `cannot ${object.doing}: it exists already and is not overwritten; use another name`,
      );
    await this.upload(body, object, options);
  }

  async *list(prefix: string, signal: AbortSignal): AsyncGenerator<StoredObject> {
    const own = this.#prefix;
    let token: string | undefined;
    do {
      const { objects, next } = await this.page(`${own}${prefix}`, token, signal);
      // Folders that consoles make are empty objects with a slash at their end.
      for (const object of objects)
        if (object.name.startsWith(own) && !object.name.endsWith("/"))
          yield { ...object, name: object.name.slice(own.length) };
      token = next;
    } while (token);
  }

  protected address(verb: "read" | "write" | "look at" | "delete", name: string): Addressed {
    return { name, key: `${this.#prefix}${requireName(name)}`, doing: `${verb} ${this.uri}${name}` };
  }

  protected foreign(store: string, flag: string): StoreError {
    return new StoreError(
      "failed",
      `cannot list ${this.uri}: the endpoint does not answer as ${store} does; check --${flag}`,
    );
  }
}
