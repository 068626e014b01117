/**
 * One watch of one kind, on the server's side: from where it begins, what of a change it tells, bookmarks, and the
 * end that comes when its past was forgotten. It pulls from the storage, so that a server that is behind simply
 * pulls less.
 */
import type { Kind } from "./kind.ts";
import { selection, wantedVersion } from "./list.ts";
import { frozen, type Json, type KubeJson } from "./object.ts";
import { Refusal } from "./refusal.ts";
import type { Selector } from "./selectors.ts";
import type { Change, Storage, Stored } from "./storage.ts";

type Query = Readonly<Record<string, string>>;

export interface RawEvent {
  readonly type: "ADDED" | "MODIFIED" | "DELETED" | "BOOKMARK" | "ERROR";
  readonly object: Json;
}

export interface WatchedFrom {
  readonly storage: Storage;
  readonly kind: Kind;
  readonly namespace: string | undefined;
  readonly query: Query;
  /** What the server has seen of the storage. */
  readonly visible: number;
  /** What happened before this is not known here any more. */
  readonly since: number;
  readonly whole: boolean;
  /** Told when the watch has ended by itself. */
  readonly onEvent: (event: RawEvent) => void;
}

export class Watch {
  readonly #from: WatchedFrom;
  readonly #selects: Selector;
  #position: number;
  #ended = false;
  readonly bookmarks: boolean;
  /** Seconds that the client wants it to last. */
  readonly lasts: number | undefined;

  /** Throws a `Refusal` for what makes no sense; what came too late is an event. */
  constructor(from: WatchedFrom) {
    this.#from = from;
    const { query, kind, namespace, visible } = from;
    refuseNonsense(query);
    this.#selects = selection(kind, namespace, query);
    this.bookmarks = query["allowWatchBookmarks"] === "true";
    this.lasts = query["timeoutSeconds"] === undefined ? undefined : Number(query["timeoutSeconds"]);
    const { version } = wantedVersion(query);
    const fresh = version === "" || version === "0" || query["sendInitialEvents"] === "true";
    this.#position = fresh ? visible : Number(version);
    // Who asks for the first state and for bookmarks is told where it ends, also when it did not ask for that.
    if (fresh) this.#tellAll(query["sendInitialEvents"] !== "false");
    else if (this.#position < from.since) this.#expire();
    else this.pull(visible);
  }

  get ended(): boolean {
    return this.#ended;
  }

  get kind(): Kind {
    return this.#from.kind;
  }

  /** Tells what happened up to a version. */
  pull(visible: number): void {
    const { storage, kind } = this.#from;
    if (this.#ended || visible <= this.#position) return;
    if (this.#position < storage.compacted) return this.#expire();
    for (const change of storage.since(kind, this.#position)) {
      if (change.version > visible) break;
      this.#position = change.version;
      this.#tell(change);
    }
    this.#position = Math.max(this.#position, visible);
  }

  /** Nothing else happened until here. */
  bookmark(annotations?: Readonly<Record<string, string>>): void {
    const { kind, onEvent } = this.#from;
    if (this.#ended) return;
    const metadata = {
      resourceVersion: String(this.#position),
      creationTimestamp: null,
      ...(annotations && { annotations }),
    };
    onEvent(frozen({ type: "BOOKMARK", object: { kind: kind.kind, apiVersion: kind.apiVersion, metadata } }));
  }

  #tellAll(complete: boolean): void {
    const { storage, kind, onEvent, visible } = this.#from;
    for (const [, stored] of storage.list(kind, visible))
      if (this.#selects(stored.object)) onEvent({ type: "ADDED", object: this.#shown(stored) });
    if (complete && this.bookmarks) this.bookmark({ "k8s.io/initial-events-end": "true" });
  }

  /** An object that leaves the selection has gone for this watch, and one that enters it is new. */
  #tell({ type, before, after, version }: Change): void {
    const { onEvent } = this.#from;
    const was = before !== undefined && this.#selects(before.object);
    const is = type !== "DELETED" && this.#selects(after.object);
    if (!was && !is) return;
    if (was && is) onEvent({ type: "MODIFIED", object: this.#shown(after) });
    else if (is) onEvent({ type: "ADDED", object: this.#shown(after) });
    else if (type === "DELETED") onEvent({ type, object: this.#shown(after) });
    else onEvent({ type: "DELETED", object: lastSeen(this.#shown(before as Stored), version) });
  }

  #shown(stored: Stored): KubeJson {
    return this.#from.whole ? stored.shown : stored.object;
  }

  #expire(): void {
    this.#ended = true;
    const { storage, onEvent } = this.#from;
    const message = `too old resource version: ${this.#position} (${storage.version})`;
    const status = new Refusal(410, "Expired", message).response.body as Json;
    onEvent({ type: "ERROR", object: status });
  }
}

/** As it was when it was last selected, with the version of the change that took it out. */
function lastSeen(object: KubeJson, version: number): KubeJson {
  return frozen({ ...object, metadata: { ...object.metadata, resourceVersion: String(version) } });
}

function refuseNonsense(query: Query): void {
  const { sendInitialEvents, resourceVersionMatch } = query;
  const refuse = (field: string, message: string) => {
    throw new Refusal(422, "Invalid", `ListOptions.meta.k8s.io "" is invalid: ${field}: ${message}`, {
      group: "meta.k8s.io",
      kind: "ListOptions",
      causes: [{ reason: "FieldValueForbidden", message, field }],
    });
  };
  if (sendInitialEvents !== undefined && resourceVersionMatch !== "NotOlderThan")
    refuse("resourceVersionMatch", "Forbidden: sendInitialEvents requires NotOlderThan");
  if (sendInitialEvents === undefined && resourceVersionMatch !== undefined)
    refuse("resourceVersionMatch", "Forbidden: resourceVersionMatch is forbidden for watch");
}
