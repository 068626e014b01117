/**
 * A watch that survives members: when a stream breaks it goes on with another voter from the revision
 * after the last one it delivered, so no event is lost or seen twice. A compacted start is an error that
 * carries the oldest revision left, since only the consumer can decide how to catch up.
 */
import { create } from "@bufbuild/protobuf";
import { doubledMs, type Backoff } from "../seams/backoff.ts";
import { deadline, sleep, type Timer } from "../seams/clock.ts";
import type { Endpoint } from "../seams/etcd-transport.ts";
import { callName, type Caller } from "./caller.ts";
import { bytes, toKeyValue } from "./convert.ts";
import { describe } from "./endpoints.ts";
import { EtcdError, kindOf, readStatus } from "./errors.ts";
import { prefixEnd } from "./kv.ts";
import { Event_EventType, type Event } from "./proto/kv_pb.ts";
import { Watch, type WatchResponse } from "./proto/rpc_pb.ts";
import type { Bytes, KeyValue } from "./types.ts";

const call = Watch.method.watch;
const PAUSES: Backoff = { firstMs: 50, longestMs: 2_000 };
/** The answer to the creation must come within this, or another member is asked. */
const CREATE_TIMEOUT_MS = 3_000;

export interface WatchOptions {
  readonly rangeEnd?: Bytes;
  readonly prefix?: boolean;
  /** First revision to deliver; absent: whatever happens from now on. */
  readonly startRevision?: bigint;
  readonly previous?: boolean;
  /** Ask etcd for a sign of life with the current revision about every 10 minutes (its own setting). */
  readonly progress?: boolean;
  /** Ask for such a sign this often; a member that has everything delivered answers at once. */
  readonly progressEveryMs?: number;
  /**
   * For a consumer that needs all events of a revision: large answers come in fragments, and after an interruption
   * ("created") the last revision comes once more from its first event, unless a sign of life has closed it.
   */
  readonly wholeRevisions?: boolean;
  readonly signal?: AbortSignal;
  /** Told about every interruption that the watch then rides out. */
  readonly onInterrupted?: (error: EtcdError) => void;
}

export interface WatchEvent {
  readonly type: "put" | "delete";
  /** For a deletion only the key and the revision of the deletion (`modRevision`) mean anything. */
  readonly kv: KeyValue;
  readonly previous?: KeyValue;
}

export type WatchBatch =
  /** The watch is established (again) on a member; everything up to `revision` is behind it. */
  | {
      readonly type: "created";
      readonly revision: bigint;
      readonly endpoint: Endpoint;
      readonly clusterId: bigint;
    }
  | { readonly type: "events"; readonly revision: bigint; readonly events: readonly WatchEvent[] }
  | { readonly type: "progress"; readonly revision: bigint };

export class WatchCalls {
  readonly #caller: Caller;
  constructor(caller: Caller) {
    this.#caller = caller;
  }

  /** Ends when the signal aborts; throws what no other member could answer better. */
  async *watch(key: Bytes, options: WatchOptions = {}): AsyncGenerator<WatchBatch> {
    const { clock, endpoints } = this.#caller;
    const stop = new AbortController();
    const signal = options.signal ?? stop.signal;
    const position = { next: options.startRevision ?? 0n };
    let failures = 0;
    while (!signal.aborted) {
      const endpoint = endpoints.voters(clock.monotonic())[0];
      if (endpoint === undefined) throw ended("no voter endpoint is known", "no endpoint");
      try {
        for await (const batch of this.#once(endpoint, key, options, position, signal)) {
          failures = 0;
          yield batch;
        }
        if (signal.aborted) return;
        throw ended("the stream ended", describe(endpoint));
      } catch (error) {
        if (signal.aborted) return;
        if (!(error instanceof EtcdError) || !error.retryable) throw error;
        endpoints.failed(endpoint, clock.monotonic());
        options.onInterrupted?.(error);
      }
      await sleep(clock, doubledMs(++failures, PAUSES), signal).catch(() => undefined);
    }
  }

  /** One stream on one member. `position.next` is the revision to go on from. */
  async *#once(
    endpoint: Endpoint,
    key: Bytes,
    options: WatchOptions,
    position: { next: bigint },
    signal: AbortSignal,
  ): AsyncGenerator<WatchBatch> {
    const { clock } = this.#caller;
    const creation = deadline(clock, CREATE_TIMEOUT_MS, signal);
    const lifetime = new AbortController();
    const onAbort = () => lifetime.abort(creation.signal.reason);
    creation.signal.addEventListener("abort", onAbort, { once: true });
    const onParent = () => lifetime.abort(signal.reason);
    let asking: Timer | undefined;
    try {
      // Without "hasleader" a member cut off from the others would keep the stream open in silence.
      const stream = await this.#caller.stream(call, endpoint, lifetime.signal, { hasleader: "true" });
      stream.send(
        create(call.input, {
          requestUnion: {
            case: "createRequest",
            value: {
              key: options.prefix && key.length === 0 ? new Uint8Array(1) : bytes(key),
              rangeEnd: options.prefix ? prefixEnd(key) : bytes(options.rangeEnd ?? ""),
              startRevision: position.next,
              progressNotify: options.progress ?? false,
              prevKv: options.previous ?? false,
              fragment: options.wholeRevisions ?? false,
            },
          },
        }),
      );
      for await (const response of stream) {
        if (response.canceled) throw cancelled(response, describe(endpoint));
        const revision = response.header?.revision ?? 0n;
        if (response.created) {
          creation.signal.removeEventListener("abort", onAbort);
          creation[Symbol.dispose]();
          signal.addEventListener("abort", onParent, { once: true });
          this.#caller.endpoints.answered(endpoint);
          // "From now on" is settled here; a later resume must not skip what happens in between.
          if (position.next === 0n) position.next = revision + 1n;
          const everyMs = options.progressEveryMs;
          const ask = () => {
            stream.send(create(call.input, { requestUnion: { case: "progressRequest", value: {} } }));
            asking = clock.timer(everyMs ?? 0, ask, { background: true });
          };
          if (everyMs !== undefined) asking = clock.timer(everyMs, ask, { background: true });
          yield { type: "created", revision, endpoint, clusterId: response.header?.clusterId ?? 0n };
        } else if (response.events.length === 0) {
          if (revision >= position.next) position.next = revision + 1n;
          yield { type: "progress", revision };
        } else {
          const events = response.events.map(toEvent);
          const last = events.at(-1)?.kv.modRevision ?? revision;
          position.next = options.wholeRevisions ? last : last + 1n;
          yield { type: "events", revision: last, events };
        }
      }
    } finally {
      asking?.cancel();
      creation.signal.removeEventListener("abort", onAbort);
      creation[Symbol.dispose]();
      signal.removeEventListener("abort", onParent);
    }
  }
}

function toEvent(event: Event): WatchEvent {
  if (event.kv === undefined) throw new TypeError("etcd sent a watch event without its key");
  return {
    type: event.type === Event_EventType.DELETE ? "delete" : "put",
    kv: toKeyValue(event.kv),
    ...(event.prevKv === undefined ? {} : { previous: toKeyValue(event.prevKv) }),
  };
}

function cancelled(response: WatchResponse, endpoint: string): EtcdError {
  if (response.compactRevision > 0n)
    return new EtcdError({
      kind: "compacted",
      call: callName(call),
      endpoint,
      code: "OUT_OF_RANGE",
      said: `required revision has been compacted; the oldest available revision is ${response.compactRevision}`,
      outcome: "not-applied",
      compactRevision: response.compactRevision,
    });
  // A cancelled watch carries its status as a text.
  const { code, said } = readStatus(response.cancelReason);
  return new EtcdError({
    kind: kindOf(code, said),
    call: callName(call),
    endpoint,
    code,
    said: said === "" ? "the watch was cancelled" : said,
    outcome: "not-applied",
  });
}

function ended(said: string, endpoint: string): EtcdError {
  return new EtcdError({
    kind: "unavailable",
    call: callName(call),
    endpoint,
    code: "UNAVAILABLE",
    said,
    outcome: "not-applied",
  });
}
