/**
 * The real `EtcdTransport`: gRPC over HTTP/2, one connection per endpoint, shared by all calls.
 * New credentials retire the connections made with the old ones. Nothing is retried here, except that
 * a call which met a connection already closed goes on a new one (no byte of it had left).
 */
import {
  fromBinary,
  toBinary,
  type DescMessage,
  type DescMethod,
  type DescMethodUnary,
  type MessageShape,
} from "@bufbuild/protobuf";
import type { ClientHttp2Stream } from "node:http2";
import type { SecureContext } from "node:tls";
import { DeadlineExceeded, type Clock } from "../../seams/clock.ts";
import {
  RpcFailure,
  type Endpoint,
  type EtcdTransport,
  type RpcOptions,
} from "../../seams/etcd-transport.ts";
import type { IdleConnections } from "../idle.ts";
import { Connection, type CallKind } from "./connection.ts";
import { encodeFrame } from "./frame.ts";
import { Gate } from "./gate.ts";
import { GrpcStream } from "./stream.ts";
import { encodeTimeout } from "./status.ts";
import { secureContext, type TlsCredentials } from "./tls.ts";
import { exchange } from "./unary.ts";

/** Calls under way at one endpoint, and calls that may wait for a place. */
const MOST_CALLS = 64;
const MOST_WAITING = 1_024;

interface Pooled {
  readonly opening: Promise<Connection>;
  connection: Connection | undefined;
}

export class GrpcTransport implements EtcdTransport {
  readonly #clock: Clock;
  readonly #idle: IdleConnections | undefined;
  #credentials: TlsCredentials | undefined;
  #context: SecureContext | undefined;
  readonly #pool = new Map<string, Pooled>();
  readonly #gates = new Map<string, Gate>();
  readonly #alive = new Set<Connection>();
  #closed = false;

  /** `idle` is shared with others; without it, connections stay open. */
  constructor(options: { clock: Clock; tls?: TlsCredentials; idle?: IdleConnections }) {
    this.#clock = options.clock;
    this.#idle = options.idle;
    if (options.tls !== undefined) this.setCredentials(options.tls);
  }

  /** Rotated certificates: calls under way finish on the old connections, new ones connect anew. */
  setCredentials(tls: TlsCredentials): void {
    const old = this.#credentials;
    if (old !== undefined && old.ca === tls.ca && old.cert === tls.cert && old.key === tls.key) return;
    this.#context = secureContext(tls);
    this.#credentials = tls;
    this.#retireAll();
  }

  async unary<I extends DescMessage, O extends DescMessage>(
    call: DescMethodUnary<I, O>,
    endpoint: Endpoint,
    request: MessageShape<I>,
    options: RpcOptions,
  ): Promise<MessageShape<O>> {
    const frame = encodeFrame(toBinary(call.input, request));
    using _place = await this.#enter(endpoint, options.signal);
    const { connection, stream } = await this.#begin(call, endpoint, options, "unary");
    try {
      return fromBinary(call.output, await exchange(stream, frame, options.signal));
    } catch (error) {
      // The peer may be dead without a word; the next call shall find out by connecting.
      if (options.signal.reason instanceof DeadlineExceeded) connection.retire();
      throw error;
    }
  }

  stream<I extends DescMessage, O extends DescMessage>(
    call: DescMethod & { input: I; output: O },
    endpoint: Endpoint,
    options: RpcOptions,
  ): GrpcStream<I, O> {
    const kind = call.methodKind === "server_streaming" ? "download" : "subscription";
    const open = async () => (await this.#begin(call, endpoint, options, kind)).stream;
    return new GrpcStream(call, open, options.signal);
  }

  close(): Promise<void> {
    this.#closed = true;
    this.#pool.clear();
    for (const connection of this.#alive) connection.destroy();
    this.#alive.clear();
    return Promise.resolve();
  }

  /** Connections not yet closed; for tests that look for leaks. */
  get connections(): number {
    return this.#alive.size;
  }

  async #begin(
    call: DescMethod,
    endpoint: Endpoint,
    options: RpcOptions,
    kind: CallKind,
  ): Promise<{ connection: Connection; stream: ClientHttp2Stream }> {
    const headers = {
      ":method": "POST",
      ":path": `/${call.parent.typeName}/${call.name}`,
      "content-type": "application/grpc",
      te: "trailers",
      "user-agent": "quorate",
      ...(options.timeoutMs === undefined ? {} : { "grpc-timeout": encodeTimeout(options.timeoutMs) }),
      ...options.metadata,
    };
    for (let tries = 0; ; tries++) {
      const connection = await abortable(this.#connection(endpoint), options.signal);
      try {
        return { connection, stream: connection.request(headers, kind) };
      } catch (error) {
        if (tries > 0) throw error;
      }
    }
  }

  async #connection(endpoint: Endpoint): Promise<Connection> {
    if (this.#closed) throw new RpcFailure("CANCELLED", "the transport is closed", "not-sent");
    const key = keyOf(endpoint);
    const known = this.#pool.get(key);
    if (known !== undefined && (known.connection === undefined || known.connection.usable))
      return await known.opening;
    const context = this.#context;
    const forget = () => {
      if (this.#pool.get(key) === pooled) this.#pool.delete(key);
      if (pooled.connection !== undefined) this.#alive.delete(pooled.connection);
    };
    const pooled: Pooled = {
      opening: Connection.open(endpoint, context, this.#clock, forget, this.#idle),
      connection: undefined,
    };
    this.#pool.set(key, pooled);
    try {
      const connection = await pooled.opening;
      pooled.connection = connection;
      if (connection.usable) this.#alive.add(connection);
      if (this.#closed) connection.destroy();
      // Opened with credentials that were replaced meanwhile: good for those who wait, not for later.
      if (this.#pool.get(key) !== pooled) connection.retire();
      return connection;
    } catch (error) {
      forget();
      throw error;
    }
  }

  #retireAll(): void {
    this.#pool.clear();
    for (const connection of this.#alive) connection.retire();
  }

  /** A place among the calls at this endpoint. A gate nobody is in is forgotten: addresses change. */
  async #enter(endpoint: Endpoint, signal: AbortSignal): Promise<Disposable> {
    const key = keyOf(endpoint);
    let gate = this.#gates.get(key);
    if (gate === undefined) this.#gates.set(key, (gate = new Gate(MOST_CALLS, MOST_WAITING)));
    const place = await gate.enter(signal);
    return {
      [Symbol.dispose]: () => {
        place[Symbol.dispose]();
        if (gate.idle && this.#gates.get(key) === gate) this.#gates.delete(key);
      },
    };
  }
}

function keyOf(endpoint: Endpoint): string {
  return `${endpoint.url} ${endpoint.serverName ?? ""}`;
}

/** A connection is shared, so one caller's abort ends only its own waiting. */
function abortable<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const onAbort = () => reject(new RpcFailure("CANCELLED", "ended while connecting", "not-sent"));
    if (signal.aborted) onAbort();
    else signal.addEventListener("abort", onAbort, { once: true });
    promise.then(resolve, reject).finally(() => signal.removeEventListener("abort", onAbort));
  });
}
