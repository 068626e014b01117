/**
 * The real `EtcdTransport`: gRPC over HTTP/2, one connection per endpoint, shared by all calls (`src/http2/pool.ts`).
 * Nothing that was sent is sent again.
 */
import {
  fromBinary,
  toBinary,
  type DescMessage,
  type DescMethod,
  type DescMethodUnary,
  type MessageShape,
} from "@bufbuild/protobuf";
import type { CallKind, Patience } from "../../http2/connection.ts";
import { Gate } from "../../http2/gate.ts";
import type { Idle } from "../../http2/idle.ts";
import { Pool, type Begun } from "../../http2/pool.ts";
import { DeadlineExceeded, type Clock } from "../../seams/clock.ts";
import type { Endpoint, EtcdTransport, RpcOptions } from "../../seams/etcd-transport.ts";
import type { TlsCredentials } from "../types.ts";
import { encodeFrame, LONGEST_MESSAGE } from "./frame.ts";
import { encodeTimeout, rpcFailure } from "./status.ts";
import { GrpcStream } from "./stream.ts";
import { exchange } from "./unary.ts";

/** etcd refuses pings that come more often than every 5 s. */
const PATIENCE: Patience = { connectMs: 3_000, pingEveryMs: 10_000, pingAnswerMs: 5_000 };
/** Calls under way at one endpoint, and calls that may wait for a place. */
const LIMITS = { concurrent: 64, waiting: 1_024 };

const UNARY: CallKind = { pinged: false, lasting: false, bodiless: false };
/** It ends by itself. */
const DOWNLOAD: CallKind = { ...UNARY, pinged: true };
/** A watch or a keep-alive lasts until one side has enough. */
const SUBSCRIPTION: CallKind = { ...DOWNLOAD, lasting: true };

export interface GrpcOptions {
  readonly clock: Clock;
  readonly tls?: TlsCredentials;
  /** Shared with others; without it, connections stay open. */
  readonly idle?: Idle;
  /** In bytes, of one message; the default suits clients that read whatever keys there are. */
  readonly longestAnswer?: number;
}

export class GrpcTransport implements EtcdTransport {
  readonly #clock: Clock;
  readonly #pool: Pool;
  readonly #gates = new Map<string, Gate>();
  readonly #longest: number;

  constructor({ clock, tls, idle, longestAnswer = LONGEST_MESSAGE }: GrpcOptions) {
    this.#clock = clock;
    this.#longest = longestAnswer;
    this.#pool = new Pool({ clock, patience: PATIENCE, idle });
    if (tls !== undefined) this.setCredentials(tls);
  }

  /** Rotated certificates: calls under way finish on the old connections, new ones connect anew. */
  setCredentials(tls: TlsCredentials): void {
    this.#pool.setCredentials(tls);
  }

  async unary<I extends DescMessage, O extends DescMessage>(
    call: DescMethodUnary<I, O>,
    endpoint: Endpoint,
    request: MessageShape<I>,
    options: RpcOptions,
  ): Promise<MessageShape<O>> {
    const frame = encodeFrame(toBinary(call.input, request));
    using _place = await this.#enter(endpoint, options.signal);
    const { connection, stream } = await this.#begin(call, endpoint, options, UNARY);
    try {
      return fromBinary(call.output, await exchange(stream, frame, options.signal, this.#longest));
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
    const kind = call.methodKind === "server_streaming" ? DOWNLOAD : SUBSCRIPTION;
    const open = async () => (await this.#begin(call, endpoint, options, kind)).stream;
    return new GrpcStream(call, open, options.signal, this.#longest);
  }

  close(): Promise<void> {
    this.#pool.close();
    return Promise.resolve();
  }

  /** Connections not yet closed; for tests that look for leaks. */
  get connections(): number {
    return this.#pool.size;
  }

  async #begin(call: DescMethod, endpoint: Endpoint, options: RpcOptions, kind: CallKind): Promise<Begun> {
    const headers = {
      ":method": "POST",
      ":path": `/${call.parent.typeName}/${call.name}`,
      "content-type": "application/grpc",
      te: "trailers",
      "user-agent": "quorate",
      ...(options.timeoutMs === undefined ? {} : { "grpc-timeout": encodeTimeout(options.timeoutMs) }),
      ...options.metadata,
    };
    try {
      return await this.#pool.begin(endpoint, headers, kind, options.signal);
    } catch (error) {
      throw rpcFailure(error);
    }
  }

  /** A place among the calls at this endpoint. A gate nobody is in is forgotten: addresses change. */
  async #enter(endpoint: Endpoint, signal: AbortSignal): Promise<Disposable> {
    const { url } = endpoint;
    let gate = this.#gates.get(url);
    if (gate === undefined) this.#gates.set(url, (gate = new Gate(this.#clock, LIMITS)));
    const place = await gate.enter(signal).catch((error: unknown) => {
      throw rpcFailure(error);
    });
    return {
      [Symbol.dispose]: () => {
        place[Symbol.dispose]();
        if (gate.idle && this.#gates.get(url) === gate) this.#gates.delete(url);
      },
    };
  }
}
