/**
 * What concurrent clients did to a few keys and what they were reported: the input of every check in this
 * folder. Times are milliseconds of one monotonic clock, revisions are etcd's. No two writes of a history
 * write the same value, so that a value names the write it came from.
 */

/** What etcd holds of a key. */
export interface Version {
  readonly value: string;
  readonly mod: number;
  readonly create: number;
  readonly version: number;
}

/** `undefined`: the key is absent. */
export type Seen = Version | undefined;

export interface Write {
  readonly key: string;
  readonly value: string;
}

export type Request =
  | { readonly kind: "put"; readonly key: string; readonly value: string }
  | { readonly kind: "delete"; readonly key: string }
  /**
   * If the key's mod revision is `mod` (0: absent) all of `writes` happen at once, otherwise the key is
   * read. With one write of the same key it is compare-and-swap.
   */
  | { readonly kind: "txn"; readonly key: string; readonly mod: number; readonly writes: readonly Write[] }
  | { readonly kind: "get"; readonly key: string }
  /** Linearizable, of all keys of the history at once. */
  | { readonly kind: "range" }
  /** Serializable, answered by one member from what it has. */
  | { readonly kind: "stale-get"; readonly key: string; readonly member: string };

export interface Answer {
  /** Of the store when it answered; of a write that changed something, its own. */
  readonly revision: number;
  /** Of a transaction. */
  readonly succeeded?: boolean;
  /** Of a delete: the key was there. */
  readonly deleted?: boolean;
  /** What was read, by key. An absent key is there with `undefined`. */
  readonly seen?: ReadonlyMap<string, Seen>;
}

export type Outcome =
  | { readonly kind: "answered"; readonly answer: Answer }
  /** The client claims that it did not happen, and is held to it. */
  | { readonly kind: "refused"; readonly why: string }
  /** It may have happened, then or at any time since it was called. */
  | { readonly kind: "unknown"; readonly why: string };

export interface Operation {
  readonly id: number;
  readonly client: string;
  readonly call: number;
  /** When the client heard of the outcome, or gave up waiting for it. */
  readonly end: number;
  readonly request: Request;
  readonly outcome: Outcome;
  /** Of a stale-get: as long as this is the same the client spoke to one life of the member's process. */
  readonly life?: string;
}

export interface WatchEvent {
  readonly key: string;
  readonly revision: number;
  /** `undefined`: the key was deleted. */
  readonly now: Seen;
  /** What was there before, when it was asked for. */
  readonly before?: { readonly seen: Seen };
}

export type WatchItem = { readonly at: number } & (
  | { readonly type: "created"; readonly revision: number; readonly member: string }
  | { readonly type: "events"; readonly events: readonly WatchEvent[] }
  /** Everything up to this revision was delivered. */
  | { readonly type: "progress"; readonly revision: number }
  | { readonly type: "interrupted"; readonly why: string }
);

export interface WatchRecord {
  readonly client: string;
  /** The first revision that was asked for. */
  readonly start: number;
  readonly items: readonly WatchItem[];
}

export interface History {
  /** Every key; all are absent at first. */
  readonly keys: readonly string[];
  /** The store's revision before the first operation. */
  readonly base: number;
  readonly operations: readonly Operation[];
  readonly watches: readonly WatchRecord[];
}

export interface Violation {
  readonly rule: "real time" | "state" | "phantom write" | "serializable read" | "watch" | "no linearization";
  readonly message: string;
  /** Operations that contradict each other. */
  readonly operations: readonly number[];
  readonly key?: string;
  /** When it was seen. */
  readonly at: number;
}

/** Values that the request would write. */
export function writesOf(request: Request): readonly Write[] {
  if (request.kind === "put") return [request];
  return request.kind === "txn" ? request.writes : [];
}

export function isWrite({ kind }: Request): boolean {
  return kind === "put" || kind === "delete" || kind === "txn";
}

export function describeSeen(seen: Seen): string {
  return seen === undefined ? "nothing" : `${seen.value} of revision ${seen.mod}`;
}

/** In a few words, as `#17 put k1=v17 by c3`. */
export function describeOperation({ id, client, request }: Operation): string {
  return `#${id} ${describeRequest(request)} by ${client}`;
}

export function describeRequest(request: Request): string {
  switch (request.kind) {
    case "put":
      return `put ${request.key}=${request.value}`;
    case "delete":
      return `delete ${request.key}`;
    case "txn":
      return `txn ${request.key}@${request.mod} → ${request.writes.map(({ key, value }) => `${key}=${value}`).join(", ")}`;
    case "get":
      return `get ${request.key}`;
    case "range":
      return "range";
    case "stale-get":
      return `stale-get ${request.key} of ${request.member}`;
  }
}
