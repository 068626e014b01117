/**
 * Where snapshots are kept, as a port: named objects below one place, written whole or not at all. What a store cannot
 * do is an error with a kind that code can compare and a sentence that says what to do.
 */

export interface StoredObject {
  /** Relative to the store's place, with slashes. */
  readonly name: string;
  readonly size: number;
  readonly modifiedAt: Date;
}

export interface Range {
  readonly start: number;
  /** Up to the end without it. */
  readonly length?: number;
}

export interface PutOptions {
  readonly signal: AbortSignal;
  /** Refuse when there is an object of this name. */
  readonly ifAbsent: boolean;
}

export interface Store {
  /** The place, as a person would write it: `file:///backups/`, `s3://bucket/prefix/`. */
  readonly uri: string;
  /**
   * Writes an object. It appears whole when this resolves, and not at all when it rejects or `body` throws. A chunk of
   * `body` is used only until the next but one is asked for.
   */
  put(name: string, body: AsyncIterable<Uint8Array>, options: PutOptions): Promise<void>;
  /** Reads an object, or a part of it. */
  get(
    name: string,
    options: { readonly signal: AbortSignal; readonly range?: Range },
  ): AsyncIterable<Uint8Array>;
  /** Undefined when there is none. */
  head(name: string, signal: AbortSignal): Promise<StoredObject | undefined>;
  /** All objects whose names begin so, by name. */
  list(prefix: string, signal: AbortSignal): AsyncIterable<StoredObject>;
  /** Nothing happens when there is none. */
  delete(name: string, signal: AbortSignal): Promise<void>;
  /**
   * What writes left that are under way or were killed, directly in a folder (empty, or with a slash at its end). Not in
   * stores that keep none, or forget it by themselves.
   */
  leftovers?(folder: string, signal: AbortSignal): AsyncIterable<Leftover>;
}

/** Bytes that take room and are no object; `delete` takes their name too. */
export interface Leftover extends StoredObject {
  /** The name of the object that was written. */
  readonly of: string;
}

export type StoreErrorKind =
  | "denied"
  | "no-place"
  | "not-found"
  | "exists"
  | "full"
  | "unreachable"
  | "interrupted"
  | "invalid"
  | "failed";

export class StoreError extends Error {
  override name = "StoreError";
  readonly kind: StoreErrorKind;
  constructor(kind: StoreErrorKind, message: string, options?: ErrorOptions) {
    super(message, options);
    this.kind = kind;
  }
}

export function isStoreError(error: unknown, ...kinds: readonly StoreErrorKind[]): error is StoreError {
  return error instanceof StoreError && (kinds.length === 0 || kinds.includes(error.kind));
}

/** Names that every store can hold: no empty, hidden or climbing parts. */
export function requireName(name: string): string {
  const parts = name.split("/");
  const bad = parts.some((part) => part === "" || part === "." || part === "..");
  // Control characters and backslashes are what paths and URLs disagree on.
  if (bad || /[\p{Cc}\\]/u.test(name) || Buffer.byteLength(name) > 900)
    throw new StoreError(
      "invalid",
      `${JSON.stringify(name)} cannot name an object in a store: use a plain name`,
    );
  return name;
}

/** A small object as text. */
export async function readText(
  store: Store,
  name: string,
  signal: AbortSignal,
  most = 1 << 20,
): Promise<string> {
  const parts: Uint8Array[] = [];
  let size = 0;
  for await (const part of store.get(name, { signal })) {
    size += part.length;
    if (size > most)
      throw new StoreError(
        "invalid",
        `${store.uri}${name} is larger than ${most} bytes, so it is not a manifest`,
      );
    parts.push(new Uint8Array(part));
  }
  return Buffer.concat(parts).toString("utf8");
}

export async function* once(bytes: Uint8Array | string): AsyncGenerator<Uint8Array> {
  yield await Promise.resolve(typeof bytes === "string" ? Buffer.from(bytes) : bytes);
}
