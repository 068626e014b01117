/**
 * A snapshot as it arrives: chunks with back-pressure, never held in memory. The last 32 bytes are the
 * SHA-256 of all before (R23); the stream ends with an error when they do not match, so a consumer that
 * reached the end holds a whole, verified file.
 */
import { create } from "@bufbuild/protobuf";
import { createHash, type Hash } from "node:crypto";
import { DeadlineExceeded, type Clock, type Timer } from "../seams/clock.ts";
import type { Endpoint } from "../seams/etcd-transport.ts";
import { callName, type Caller } from "./caller.ts";
import { describe } from "./endpoints.ts";
import { EtcdError } from "./errors.ts";
import { Maintenance } from "./proto/rpc_pb.ts";
import { SnapshotBlocks } from "./snapshot-blocks.ts";

const call = Maintenance.method.snapshot;
const HASH_BYTES = 32;
/** A member that sends nothing for this long is taken for dead. */
const IDLE_TIMEOUT_MS = 30_000;

export interface SnapshotOptions {
  readonly signal?: AbortSignal;
  /** Longest silence of the member. */
  readonly idleTimeoutMs?: number;
  /**
   * The reader checks the hash at the end itself, in a pass over the bytes that it makes anyway. It gets buffers that are
   * used again: each may be read until the next but one is asked for.
   */
  readonly unhashed?: boolean;
}

export interface SnapshotResult {
  /** Bytes received, the trailing hash included. */
  readonly size: number;
  /** The verified SHA-256 of the database, lower-case hexadecimal; absent from an unhashed stream. */
  readonly sha256?: string;
  /** Since 3.6: the version to restore with. */
  readonly version?: string;
}

/** Iterate once, to the end; then `result` is there. */
export interface SnapshotStream extends AsyncIterable<Uint8Array> {
  /** What `size` will be, as announced with the first chunk; for progress. */
  readonly expectedSize: number | undefined;
  readonly result: SnapshotResult | undefined;
}

export function openSnapshot(caller: Caller, endpoint: Endpoint, options: SnapshotOptions): SnapshotStream {
  let expectedSize: number | undefined;
  let result: SnapshotResult | undefined;

  async function* chunks(): AsyncGenerator<Uint8Array> {
    const hash = createHash("sha256");
    let tail = new Uint8Array(0);
    let size = 0;
    let version = "";
    const idle = new IdleLimit(caller.clock, options);
    try {
      const stream = await caller.stream(call, endpoint, idle.signal);
      stream.send(create(call.input, {}));
      stream.end();
      idle.resume();
      if (options.unhashed === true && stream.parsed !== undefined) {
        const blocks = new SnapshotBlocks(() => idle.heard());
        let before: Uint8Array | undefined;
        for await (const block of stream.parsed(blocks)) {
          idle.pause();
          expectedSize ??= blocks.announced === undefined ? undefined : blocks.announced + HASH_BYTES;
          size += block.length;
          yield block;
          // By now the next one is asked for.
          if (before !== undefined) blocks.release(before);
          before = block;
          idle.resume();
        }
        result = { size, ...(blocks.version === "" ? {} : { version: blocks.version }) };
        return;
      }
      for await (const part of stream) {
        idle.pause();
        expectedSize ??= Number(part.remainingBytes) + part.blob.length + HASH_BYTES;
        size += part.blob.length;
        if (part.version !== "") version = part.version;
        if (options.unhashed !== true) tail = digestAllButTail(hash, tail, part.blob);
        if (part.blob.length > 0) yield part.blob;
        idle.resume();
      }
    } finally {
      idle.stop();
    }
    const restoreWith = version === "" ? {} : { version };
    if (options.unhashed === true) {
      result = { size, ...restoreWith };
      return;
    }
    const sha256 = hash.digest("hex");
    const damaged = tail.length < HASH_BYTES || Buffer.from(tail).toString("hex") !== sha256;
    if (damaged)
      throw new EtcdError({
        kind: "snapshot-damaged",
        call: callName(call),
        endpoint: describe(endpoint),
        code: "DATA_LOSS",
        said: `the SHA-256 at the end of the snapshot (${size} bytes) does not match its content`,
        outcome: "not-applied",
      });
    result = { size, sha256, ...restoreWith };
  }

  return {
    get expectedSize() {
      return expectedSize;
    },
    get result() {
      return result;
    },
    [Symbol.asyncIterator]: chunks,
  };
}

/** Feeds everything but the last 32 bytes into the hash and returns those, which may be the trailer. */
export function digestAllButTail(hash: Hash, tail: Uint8Array, chunk: Uint8Array): Uint8Array<ArrayBuffer> {
  if (chunk.length >= HASH_BYTES) {
    hash.update(tail);
    hash.update(chunk.subarray(0, chunk.length - HASH_BYTES));
    return new Uint8Array(chunk.subarray(chunk.length - HASH_BYTES));
  }
  const joined = new Uint8Array(tail.length + chunk.length);
  joined.set(tail);
  joined.set(chunk, tail.length);
  const settled = Math.max(0, joined.length - HASH_BYTES);
  hash.update(joined.subarray(0, settled));
  return joined.slice(settled);
}

/**
 * Aborts when the member is silent too long. The consumer's own slowness does not count. One timer looks now and then how
 * long ago the last bytes came: sixty thousand frames a gigabyte are too many to begin one for each.
 */
class IdleLimit {
  readonly #controller = new AbortController();
  readonly #clock: Clock;
  readonly #ms: number;
  readonly #parent: AbortSignal | undefined;
  readonly #onParent = () => this.#controller.abort(this.#parent?.reason);
  #timer: Timer | undefined;
  /** Undefined while the consumer has the bytes. */
  #since: number | undefined;

  constructor(clock: Clock, options: SnapshotOptions) {
    this.#clock = clock;
    this.#ms = options.idleTimeoutMs ?? IDLE_TIMEOUT_MS;
    this.#parent = options.signal;
    if (this.#parent?.aborted) this.#onParent();
    else this.#parent?.addEventListener("abort", this.#onParent, { once: true });
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /** The member is waited for, from now on. */
  resume(): void {
    this.#since = this.#clock.monotonic();
    if (this.#timer === undefined) this.#look(this.#ms);
  }

  heard(): void {
    if (this.#since !== undefined) this.#since = this.#clock.monotonic();
  }

  pause(): void {
    this.#since = undefined;
  }

  stop(): void {
    this.#timer?.cancel();
    this.#timer = undefined;
    this.#parent?.removeEventListener("abort", this.#onParent);
  }

  #look(inMs: number): void {
    this.#timer = this.#clock.timer(inMs, () => {
      this.#timer = undefined;
      // Waiting begins it again.
      if (this.#since === undefined) return;
      const left = this.#since + this.#ms - this.#clock.monotonic();
      if (left > 0) this.#look(left);
      else this.#controller.abort(new DeadlineExceeded(this.#ms));
    });
  }
}
