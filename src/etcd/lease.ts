/** Leases: granting, looking, keeping alive. */
import { create } from "@bufbuild/protobuf";
import { deadline, sleep } from "../seams/clock.ts";
import type { Endpoint } from "../seams/etcd-transport.ts";
import { callName, type Caller } from "./caller.ts";
import { describe } from "./endpoints.ts";
import { EtcdError, isEtcdError } from "./errors.ts";
import { Lease } from "./proto/rpc_pb.ts";
import type { CallOptions } from "./types.ts";

const { method } = Lease;
/** The answer to one keep-alive must come within this, or the next member is asked. */
const KEEP_ALIVE_TIMEOUT_MS = 2_000;
/** Pause after every voter has failed. */
const RETRY_MS = 500;

export interface LeaseInfo {
  readonly id: bigint;
  /** Seconds left; -1 when the lease is gone. */
  readonly ttl: number;
  readonly grantedTtl: number;
  readonly keys: readonly Uint8Array[];
}

export class LeaseCalls {
  readonly #caller: Caller;
  constructor(caller: Caller) {
    this.#caller = caller;
  }

  /** A lease of at least `ttl` seconds. ID 0 lets etcd choose. */
  async grant(
    ttl: number,
    options: CallOptions & { id?: bigint } = {},
  ): Promise<{ id: bigint; ttl: number }> {
    const request = { ttl: BigInt(ttl), id: options.id ?? 0n };
    const answer = await this.#caller.voter(method.leaseGrant, request, { ...options, repeatable: false });
    return { id: answer.id, ttl: Number(answer.ttl) };
  }

  async revoke(id: bigint, options: CallOptions = {}): Promise<void> {
    await this.#caller.voter(method.leaseRevoke, { id }, { ...options, repeatable: false });
  }

  async timeToLive(id: bigint, options: CallOptions & { keys?: boolean } = {}): Promise<LeaseInfo> {
    const request = { id, keys: options.keys ?? false };
    const answer = await this.#caller.voter(method.leaseTimeToLive, request, {
      ...options,
      repeatable: true,
    });
    return { id, ttl: Number(answer.ttl), grantedTtl: Number(answer.grantedTtl), keys: answer.keys };
  }

  async list(options: CallOptions = {}): Promise<readonly bigint[]> {
    const answer = await this.#caller.voter(method.leaseLeases, {}, { ...options, repeatable: true });
    return answer.leases.map(({ id }) => id);
  }

  /** Renews once and returns the seconds left. Repeatable: a renewal twice is a renewal. */
  async keepAliveOnce(id: bigint, options: CallOptions = {}): Promise<number> {
    let last: EtcdError | undefined;
    for (const endpoint of this.#caller.endpoints.voters(this.#caller.clock.monotonic())) {
      try {
        const ttl = await this.#renew(id, endpoint, options);
        this.#caller.endpoints.answered(endpoint);
        return ttl;
      } catch (error) {
        if (!isEtcdError(error) || error.kind === "lease-not-found" || options.signal?.aborted) throw error;
        this.#caller.endpoints.failed(endpoint, this.#caller.clock.monotonic());
        last = error;
      }
    }
    throw last ?? new TypeError("no endpoint is known for the lease");
  }

  /** Renews many at once over one stream; the seconds that each has then, 0 for those that are gone. */
  async keepAliveAll(
    ids: readonly bigint[],
    endpoint: Endpoint,
    options: CallOptions = {},
  ): Promise<ReadonlyMap<bigint, number>> {
    const left = new Map<bigint, number>();
    if (ids.length === 0) return left;
    using limit = deadline(this.#caller.clock, options.timeoutMs ?? KEEP_ALIVE_TIMEOUT_MS, options.signal);
    const call = method.leaseKeepAlive;
    const stream = await this.#caller.stream(call, endpoint, limit.signal);
    for (const id of ids) stream.send(create(call.input, { id }));
    for await (const answer of stream) {
      left.set(answer.id, Number(answer.ttl));
      if (left.size === ids.length) return left;
    }
    throw noAnswer(describe(endpoint));
  }

  /**
   * Renews at a third of the time to live and yields the seconds left after each renewal, until the
   * signal aborts (ends) or the lease is lost (throws `lease-not-found`). Rides out failing members.
   */
  async *keepAlive(id: bigint, signal: AbortSignal): AsyncGenerator<number> {
    while (!signal.aborted) {
      let pause = RETRY_MS;
      try {
        const ttl = await this.keepAliveOnce(id, { signal });
        yield ttl;
        pause = (ttl * 1_000) / 3;
      } catch (error) {
        if (signal.aborted) return;
        if (!isEtcdError(error) || !error.retryable) throw error;
      }
      await sleep(this.#caller.clock, pause, signal).catch(() => undefined);
    }
  }

  async #renew(id: bigint, endpoint: Endpoint, options: CallOptions): Promise<number> {
    using limit = deadline(this.#caller.clock, options.timeoutMs ?? KEEP_ALIVE_TIMEOUT_MS, options.signal);
    const call = method.leaseKeepAlive;
    const stream = await this.#caller.stream(call, endpoint, limit.signal);
    stream.send(create(call.input, { id }));
    for await (const answer of stream) {
      if (answer.ttl > 0n) return Number(answer.ttl);
      throw new EtcdError({
        kind: "lease-not-found",
        call: callName(call),
        endpoint: describe(endpoint),
        code: "NOT_FOUND",
        said: "requested lease not found",
        outcome: "not-applied",
      });
    }
    throw noAnswer(describe(endpoint));
  }
}

function noAnswer(endpoint: string): EtcdError {
  return new EtcdError({
    kind: "unavailable",
    call: callName(method.leaseKeepAlive),
    endpoint,
    code: "UNAVAILABLE",
    said: "the stream ended without an answer",
    outcome: "unknown",
  });
}
