/**
 * Every object of a scope and every change of it, for ever. Protects from all that ends a watch: a server killed,
 * frozen or restarted, connections that die without a word, history compacted away (410), a server that does not
 * stream lists, a control plane restored from a backup. It never throws and never gives up; it waits longer.
 */
import { sleep, type Clock } from "../seams/clock.ts";
import type { Random } from "../seams/random.ts";
import { backoffMs, fraction, type Backoff } from "../seams/backoff.ts";
import type { KubeClient } from "./client.ts";
import { errorFromFailure, errorFromResponse, isReason, isStatus, KubeError } from "./errors.ts";
import type { KubeObject, Resource } from "./resources.ts";
import type { Scope } from "./scope.ts";
import { stripped } from "./strip.ts";

export type WatchEvent<T extends KubeObject = KubeObject> =
  /** What follows until `synced` is everything there is, and replaces all that was known. */
  | { readonly type: "restarted" }
  | { readonly type: "applied"; readonly object: T }
  | { readonly type: "deleted"; readonly object: T }
  | { readonly type: "synced"; readonly resourceVersion: string }
  /** Nothing changed up to here. */
  | { readonly type: "progress"; readonly resourceVersion: string }
  | { readonly type: "troubled"; readonly error: KubeError; readonly retryMs: number };

export interface WatchOptions {
  readonly clock: Clock;
  readonly random: Random;
  /** Ends the watch. */
  readonly signal: AbortSignal;
  readonly backoff?: Backoff;
  /** Bookmarks come every minute; who is silent for longer is asked anew. */
  readonly quietMs?: number;
  /** How long the first answer, or the next part of the first state, may take. */
  readonly openMs?: number;
}

const BACKOFF: Backoff = { firstMs: 200, longestMs: 30_000 };
/** A server that is not there is asked again soon, which costs it nothing: until then we see what was. */
const AWAY_MS = 8_000;
const QUIET_MS = 100_000;
const OPEN_MS = 30_000;
/** The server ends a watch after this long (and up to twice that), so that load moves to where there is room. */
const LASTS_S = 300;
/** A server that is behind catches up in seconds; one that was restored never does. */
const MOST_AHEAD = 5;
const INITIAL_EVENTS_END = "k8s.io/initial-events-end";

interface RawEvent {
  readonly type?: string;
  readonly object?: KubeObject;
}

export async function* watch<T extends KubeObject>(
  client: KubeClient,
  resource: Resource<T>,
  scope: Scope,
  options: WatchOptions,
): AsyncGenerator<WatchEvent<T>, void> {
  const { clock, random, signal, backoff = BACKOFF } = options;
  const position: Position = {
    resourceVersion: undefined,
    streamsLists: true,
    failures: 0,
    expired: 0,
    ahead: 0,
  };
  while (!signal.aborted) {
    let retryMs: number;
    try {
      if (position.resourceVersion === undefined && !position.streamsLists)
        yield* listed(client, resource, scope, position, signal);
      yield* followed(client, resource, scope, position, options);
      continue;
    } catch (thrown) {
      if (signal.aborted) return;
      const error = errorFromFailure(`watch ${resource.plural}`, thrown);
      const wait = learn(position, error);
      retryMs = wait === "at-once" ? 0 : backoffMs(position.failures, backoff, random);
      if (isReason(error, "Unreachable", "Interrupted")) retryMs = Math.min(retryMs, AWAY_MS);
      retryMs = Math.max(retryMs, error.retryAfterMs ?? 0);
      yield { type: "troubled", error, retryMs };
    }
    await sleep(clock, retryMs, signal).catch(() => undefined);
  }
}

interface Position {
  /** Up to where we know everything; undefined when we have to begin anew. */
  resourceVersion: string | undefined;
  /** The server sends the first state through the watch (WatchList), which costs it and us far less memory. */
  streamsLists: boolean;
  /** Failures since the last event of a watch that was in step. */
  failures: number;
  /** Those among them that called our resourceVersion too old. */
  expired: number;
  /** Times in a row that the server did not know our resourceVersion yet. */
  ahead: number;
}

function learn(position: Position, error: KubeError): "at-once" | "later" {
  position.failures++;
  if (isReason(error, "Expired")) {
    position.resourceVersion = undefined;
    // At once, also after an outage, from which servers come back without a past; but not for ever: a server may
    // compact faster than we list.
    return position.expired++ === 0 ? "at-once" : "later";
  }
  const beginning = position.resourceVersion === undefined;
  if (beginning && position.streamsLists && isReason(error, "Invalid", "BadRequest")) {
    position.streamsLists = false;
    return "at-once";
  }
  if (isReason(error, "TooNew") && ++position.ahead >= MOST_AHEAD) {
    position.resourceVersion = undefined;
    position.ahead = 0;
  }
  return "later";
}

/** Everything there is, by pages. */
async function* listed<T extends KubeObject>(
  client: KubeClient,
  resource: Resource<T>,
  scope: Scope,
  position: Position,
  signal: AbortSignal,
): AsyncGenerator<WatchEvent<T>, void> {
  yield { type: "restarted" };
  let resourceVersion = "";
  for await (const page of client.pages(resource, scope, { signal })) {
    ({ resourceVersion } = page);
    for (const object of page.items) yield { type: "applied", object };
  }
  position.resourceVersion = resourceVersion;
  yield { type: "synced", resourceVersion };
}

/** One watch, to its end. Returns when there was something to it; throws when there was not. */
async function* followed<T extends KubeObject>(
  client: KubeClient,
  resource: Resource<T>,
  scope: Scope,
  position: Position,
  options: WatchOptions,
): AsyncGenerator<WatchEvent<T>, void> {
  const { clock, random, quietMs = QUIET_MS, openMs = OPEN_MS } = options;
  const what = `watch ${resource.plural}`;
  using silence = new Silence(clock, options.signal);
  silence.endAfter(openMs);
  const initial = position.resourceVersion === undefined;
  const query: Record<string, string> = {
    allowWatchBookmarks: "true",
    timeoutSeconds: String(Math.floor(LASTS_S * (1 + fraction(random)))),
    ...(position.resourceVersion === undefined
      ? { sendInitialEvents: "true", resourceVersionMatch: "NotOlderThan" }
      : { resourceVersion: position.resourceVersion }),
  };
  let opened = false;
  let events = 0;
  try {
    const objects = await client.watch(resource, scope, query, silence.signal);
    opened = true;
    if (initial) yield { type: "restarted" };
    silence.endAfter(initial ? openMs : quietMs);
    for await (const raw of objects) {
      const event = understood<T>(what, raw as RawEvent);
      const { resourceVersion } = event;
      events++;
      if (position.resourceVersion !== undefined || event.complete) {
        // In step: only now is a failure forgotten, or a server that fails after each list is listed in a loop.
        if (!event.complete) position.failures = position.expired = position.ahead = 0;
        position.resourceVersion = resourceVersion;
        silence.endAfter(quietMs);
      } else silence.endAfter(openMs);
      yield event.reported;
    }
  } catch (error) {
    if (!silence.broken || options.signal.aborted) throw error;
    if (position.resourceVersion !== undefined && events > 0) return;
    // A server that does not know WatchList may say nothing of it, and never that all objects have come.
    if (position.resourceVersion === undefined && opened) position.streamsLists = false;
    throw new KubeError("Unavailable", what, "the API server sent nothing for too long", { cause: error });
  }
  if (position.resourceVersion === undefined)
    throw new KubeError("Unavailable", what, "the watch ended before the initial list was complete");
  if (events === 0) throw new KubeError("Unavailable", what, "the watch ended without an error");
}

interface Understood<T extends KubeObject> {
  readonly resourceVersion: string;
  readonly reported: WatchEvent<T>;
  /** The bookmark that ends the first state. */
  readonly complete: boolean;
}

function understood<T extends KubeObject>(what: string, { type, object }: RawEvent): Understood<T> {
  if (type === "ERROR" || isStatus(object)) {
    const status = isStatus(object) ? (object.code ?? 500) : 500;
    throw errorFromResponse(what, { status, body: object });
  }
  const resourceVersion = object?.metadata?.resourceVersion;
  if (object === undefined || !resourceVersion)
    throw new KubeError("Internal", what, "received an event without a resourceVersion");
  if (type === "BOOKMARK") {
    const complete = object.metadata?.annotations?.[INITIAL_EVENTS_END] === "true";
    return {
      resourceVersion,
      complete,
      reported: { type: complete ? "synced" : "progress", resourceVersion },
    };
  }
  const known = stripped(object) as T;
  const reported = type === "DELETED" ? "deleted" : "applied";
  return { resourceVersion, complete: false, reported: { type: reported, object: known } };
}

/** Ends a watch that nobody feeds. */
class Silence implements Disposable {
  readonly #clock: Clock;
  readonly #parent: AbortSignal;
  readonly #controller = new AbortController();
  #limitMs = 0;
  #heardAt = 0;
  #timer: { cancel(): void } | undefined;
  broken = false;

  constructor(clock: Clock, parent: AbortSignal) {
    this.#clock = clock;
    this.#parent = parent;
    parent.addEventListener("abort", this.#onParent, { once: true });
    if (parent.aborted) this.#onParent();
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /** Heard something: this long from now. A timer for each event would be work for nothing. */
  endAfter(ms: number): void {
    this.#heardAt = this.#clock.monotonic();
    if (ms === this.#limitMs) return;
    this.#limitMs = ms;
    this.#arm(ms);
  }

  #arm(ms: number): void {
    this.#timer?.cancel();
    this.#timer = this.#clock.timer(ms, () => {
      const left = this.#heardAt + this.#limitMs - this.#clock.monotonic();
      if (left > 0) this.#arm(left);
      else {
        this.broken = true;
        this.#controller.abort(new Error("no event for too long"));
      }
    });
  }

  readonly #onParent = () => this.#controller.abort(this.#parent.reason);

  [Symbol.dispose](): void {
    this.#timer?.cancel();
    this.#parent.removeEventListener("abort", this.#onParent);
  }
}
