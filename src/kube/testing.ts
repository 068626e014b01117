/**
 * For tests of this folder: a clock that is moved by hand, and a small API server in memory that can be made to
 * fail in the ways a real one does. The real one is met in test/kube.
 */
import type { Clock, Timer } from "../seams/clock.ts";
import {
  KubeFailure,
  type KubeCallOptions,
  type KubeRequest,
  type KubeResponse,
  type KubeStreamResponse,
  type KubeTransport,
} from "../seams/kube-transport.ts";
import type { Random } from "../seams/random.ts";
import { KubeClient } from "./client.ts";

/** Lets everything run that waits for nothing but its turn. */
export async function settle(): Promise<void> {
  for (let i = 0; i < 5; i++) await new Promise((resolve) => setImmediate(resolve));
}

export class ManualClock implements Clock {
  #elapsed = 0;
  #skew = 0;
  readonly #timers = new Set<{ at: number; fire: () => void }>();

  now(): number {
    return 1_900_000_000_000 + this.#elapsed + this.#skew;
  }

  monotonic(): number {
    return this.#elapsed;
  }

  timer(ms: number, fire: () => void): Timer {
    const timer = { at: this.#elapsed + Math.max(0, ms), fire };
    this.#timers.add(timer);
    return { cancel: () => void this.#timers.delete(timer) };
  }

  /** Sets the wall clock forward, or back when negative. */
  jump(ms: number): void {
    this.#skew += ms;
  }

  /** Moves time, running what falls due and what follows from it, in order. */
  async advance(ms: number): Promise<void> {
    const end = this.#elapsed + ms;
    for (;;) {
      await settle();
      const due = [...this.#timers].filter(({ at }) => at <= end).toSorted((a, b) => a.at - b.at)[0];
      if (due === undefined) break;
      this.#timers.delete(due);
      this.#elapsed = Math.max(this.#elapsed, due.at);
      due.fire();
    }
    this.#elapsed = end;
    await settle();
  }

  /** A pause: time goes by and nothing of ours runs; then everything is due at once. */
  freeze(ms: number): void {
    this.#elapsed += ms;
  }

  get timers(): number {
    return this.#timers.size;
  }
}

/** Always the same: waits are then of one length. */
export const noRandom: Random = { bytes: (length) => new Uint8Array(length) };

export interface Stored {
  apiVersion?: string;
  kind?: string;
  metadata: {
    name: string;
    namespace?: string;
    uid: string;
    resourceVersion: string;
    labels?: Record<string, string>;
    annotations?: Record<string, string>;
    managedFields?: unknown[];
  };
  [field: string]: unknown;
}

interface RawEvent {
  readonly type: string;
  readonly object: unknown;
}

class Watcher {
  readonly #events: RawEvent[] = [];
  #ended: KubeFailure | "cleanly" | undefined;
  #wake: (() => void) | undefined;

  push(event: RawEvent): void {
    this.#events.push(event);
    this.#wake?.();
  }

  end(how: KubeFailure | "cleanly"): void {
    this.#ended ??= how;
    this.#wake?.();
  }

  async *read(): AsyncGenerator<unknown> {
    for (;;) {
      const event = this.#events.shift();
      if (event !== undefined) yield event;
      else if (this.#ended === "cleanly") return;
      else if (this.#ended !== undefined) throw this.#ended;
      else
        await new Promise<void>((resolve) => {
          this.#wake = resolve;
        });
    }
  }
}

type Verdict = KubeResponse | KubeFailure | "hang" | undefined;

/** An API server of one resource type per path, with versions, watches, pages and preconditions. */
export class FakeServer implements KubeTransport {
  readonly requests: KubeRequest[] = [];
  readonly #objects = new Map<string, Stored>();
  readonly #history: { version: number; collection: string; event: RawEvent }[] = [];
  readonly #watchers = new Map<Watcher, string>();
  #version = 100;
  #compacted = 0;
  /** Does not know `sendInitialEvents`: refuses it, or does as if it had not been said. */
  watchList: "known" | "refused" | "ignored" = "known";
  /** Asked first for each request. */
  intercept: (request: KubeRequest) => Verdict = () => undefined;
  /** Called after a request took effect: to cut the answer off. */
  afterwards: (request: KubeRequest) => KubeFailure | undefined = () => undefined;

  async request(request: KubeRequest, options: KubeCallOptions): Promise<KubeResponse> {
    this.requests.push(request);
    await Promise.resolve();
    const verdict = this.intercept(request);
    if (verdict === "hang") return await hang(options.signal);
    if (verdict instanceof KubeFailure) throw verdict;
    const response = verdict ?? this.#answer(request);
    const cut = this.afterwards(request);
    if (cut !== undefined) throw cut;
    return structuredClone(response);
  }

  async stream(request: KubeRequest, { signal }: KubeCallOptions): Promise<KubeStreamResponse> {
    this.requests.push(request);
    await Promise.resolve();
    const verdict = this.intercept(request);
    if (verdict === "hang") return await hang(signal);
    if (verdict instanceof KubeFailure) throw verdict;
    const response = verdict ?? this.#refusedWatch(request);
    if (response !== undefined) return { ok: false, response };
    const watcher = new Watcher();
    const query = request.query ?? {};
    if (query["resourceVersion"] === undefined) {
      for (const object of this.list(request.path)) watcher.push({ type: "ADDED", object });
      const annotations = { "k8s.io/initial-events-end": "true" };
      if (this.watchList === "known") watcher.push(bookmark(this.#version, annotations));
    } else
      for (const { version, collection, event } of this.#history)
        if (version > Number(query["resourceVersion"]) && collection === request.path) watcher.push(event);
    this.#watchers.set(watcher, request.path);
    signal.addEventListener("abort", () => {
      watcher.end(new KubeFailure("interrupted", "cancelled", "cancelled by the client"));
      this.#watchers.delete(watcher);
    });
    return { ok: true, objects: watcher.read() };
  }

  close(): Promise<void> {
    this.cut();
    return Promise.resolve();
  }

  get watching(): number {
    return this.#watchers.size;
  }

  /** Ends every watch as a lost connection does, or as a server does that has had enough. */
  cut(how: "lost" | "cleanly" = "lost"): void {
    const end = how === "lost" ? new KubeFailure("interrupted", "connection", "connection lost") : how;
    for (const watcher of this.#watchers.keys()) watcher.end(end);
    this.#watchers.clear();
  }

  /** Forgets history: who asks for it is told 410. */
  compact(): void {
    this.#compacted = this.#version;
  }

  bookmark(): void {
    for (const watcher of this.#watchers.keys()) watcher.push(bookmark(this.#version));
  }

  /** Something other than the truth, to every watch. */
  push(event: RawEvent): void {
    for (const watcher of this.#watchers.keys()) watcher.push(event);
  }

  /** Changes what is stored and lets no watch know. */
  quietly(work: () => void): void {
    const watchers = [...this.#watchers];
    this.#watchers.clear();
    work();
    for (const [watcher, path] of watchers) this.#watchers.set(watcher, path);
  }

  list(collection: string): Stored[] {
    return [...this.#objects]
      .filter(([path]) => path.slice(0, path.lastIndexOf("/")) === collection)
      .map(([, object]) => structuredClone(object));
  }

  put(collection: string, name: string, content: Record<string, unknown> = {}): Stored {
    const path = `${collection}/${name}`;
    const before = this.#objects.get(path);
    const version = ++this.#version;
    const namespace = /namespaces\/([^/]+)/.exec(collection)?.[1];
    const given = content["metadata"] as Partial<Stored["metadata"]> | undefined;
    const object: Stored = {
      ...content,
      metadata: {
        ...given,
        name,
        ...(namespace !== undefined && { namespace }),
        uid: before?.metadata.uid ?? `uid-${version}`,
        resourceVersion: String(version),
        managedFields: [{ manager: "somebody" }],
      },
    };
    this.#objects.set(path, object);
    this.#happened(collection, { type: before === undefined ? "ADDED" : "MODIFIED", object });
    return structuredClone(object);
  }

  remove(collection: string, name: string): void {
    const object = this.#objects.get(`${collection}/${name}`);
    if (object === undefined) return;
    this.#objects.delete(`${collection}/${name}`);
    const gone = { ...object, metadata: { ...object.metadata, resourceVersion: String(++this.#version) } };
    this.#happened(collection, { type: "DELETED", object: gone });
  }

  #happened(collection: string, event: RawEvent): void {
    const reported = structuredClone(event);
    this.#history.push({ version: this.#version, collection, event: reported });
    for (const [watcher, path] of this.#watchers) if (path === collection) watcher.push(reported);
  }

  #refusedWatch({ query = {} }: KubeRequest): KubeResponse | undefined {
    const version = query["resourceVersion"];
    if (version !== undefined && Number(version) < this.#compacted)
      return refusal(410, "Expired", "too old resource version");
    if (version !== undefined && Number(version) > this.#version)
      return refusal(504, "Timeout", "Too large resource version", [{ reason: "ResourceVersionTooLarge" }]);
    if (query["sendInitialEvents"] !== undefined && this.watchList === "refused")
      return refusal(422, "Invalid", "sendInitialEvents is forbidden");
    return undefined;
  }

  #answer({ method, path, body, query = {} }: KubeRequest): KubeResponse {
    const slash = path.lastIndexOf("/");
    const collection = path.slice(0, slash);
    const name = path.slice(slash + 1);
    const known = this.#objects.get(path);
    const given = body as { metadata?: Partial<Stored["metadata"]> } & Record<string, unknown>;
    if (method === "POST") {
      const wanted = given.metadata?.name ?? "";
      if (this.#objects.has(`${path}/${wanted}`)) return refusal(409, "AlreadyExists", "already exists");
      return { status: 201, body: this.put(path, wanted, given) };
    }
    if (method === "GET" && known === undefined && isCollection(name)) return this.#page(path, query);
    if (known === undefined) return refusal(404, "NotFound", `${name} not found`);
    if (method === "GET") return { status: 200, body: known };
    const wants = method === "DELETE" ? (given["preconditions"] as typeof given.metadata) : given.metadata;
    for (const field of ["uid", "resourceVersion"] as const)
      if (wants?.[field] !== undefined && wants[field] !== known.metadata[field])
        return refusal(409, "Conflict", `${field} differs`);
    if (method === "DELETE") {
      this.remove(collection, name);
      return { status: 200, body: { kind: "Status", status: "Success" } };
    }
    const merged =
      method === "PUT" ? given : { ...known, ...given, metadata: { ...known.metadata, ...given.metadata } };
    return { status: 200, body: this.put(collection, name, merged) };
  }

  #page(path: string, query: Readonly<Record<string, string>>): KubeResponse {
    const from = Number(query["continue"] ?? 0);
    if (from > 0 && this.#compacted === this.#version) return refusal(410, "Expired", "the token is too old");
    const limit = Number(query["limit"] ?? Infinity);
    const all = this.list(path);
    const next = from + limit < all.length ? { continue: String(from + limit) } : {};
    const metadata = { resourceVersion: String(this.#version), ...next };
    return { status: 200, body: { kind: "List", metadata, items: all.slice(from, from + limit) } };
  }
}

function isCollection(name: string): boolean {
  return ["configmaps", "pods", "leases", "events"].includes(name);
}

function bookmark(version: number, annotations: Record<string, string> = {}): RawEvent {
  return { type: "BOOKMARK", object: { metadata: { resourceVersion: String(version), annotations } } };
}

export function refusal(
  status: number,
  reason: string,
  message: string,
  causes: readonly object[] = [],
): KubeResponse {
  return { status, body: { kind: "Status", code: status, reason, message, details: { causes } } };
}

function hang(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    const end = () => reject(new KubeFailure("interrupted", "timeout", "no answer"));
    if (signal.aborted) end();
    else signal.addEventListener("abort", end, { once: true });
  });
}

/** What a test of this folder begins with. */
export function bench(): { server: FakeServer; clock: ManualClock; client: KubeClient } {
  const server = new FakeServer();
  const clock = new ManualClock();
  return { server, clock, client: new KubeClient({ transport: server, clock, fieldManager: "test" }) };
}

export const CONFIG_MAPS = "/api/v1/namespaces/default/configmaps";
