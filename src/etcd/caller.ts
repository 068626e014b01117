/**
 * How a call reaches an answer: deadline, choice of endpoint, failover, authentication. A call that
 * changes something is sent a second time only when it is certain that the first had no effect.
 */
import {
  create,
  type DescMessage,
  type DescMethod,
  type DescMethodBiDiStreaming,
  type DescMethodServerStreaming,
  type DescMethodUnary,
  type MessageInitShape,
  type MessageShape,
} from "@bufbuild/protobuf";
import { deadline, DeadlineExceeded, type Clock } from "../seams/clock.ts";
import {
  RpcFailure,
  type ChunkParser,
  type Endpoint,
  type EtcdTransport,
  type RpcStream,
} from "../seams/etcd-transport.ts";
import { describe, EndpointSet, sameEndpoint } from "./endpoints.ts";
import { EtcdError, isEtcdError, toEtcdError, type EtcdErrorKind } from "./errors.ts";
import { Auth, Maintenance } from "./proto/rpc_pb.ts";
import { Tokens } from "./token.ts";
import type { CallOptions } from "./types.ts";

export interface Credentials {
  readonly user: string;
  readonly password: string;
}

export interface CallerOptions {
  readonly transport: EtcdTransport;
  readonly clock: Clock;
  readonly endpoints: readonly Endpoint[];
  /**
   * For clusters with authentication by password; certificates need none. As a function, asked for at every login: those
   * that may be right, the likeliest first, and none where none is needed now.
   */
  readonly credentials?: Credentials | (() => readonly Credentials[]);
  /** Default for calls that name no deadline. */
  readonly timeoutMs?: number;
}

const DEFAULT_TIMEOUT_MS = 5_000;
/** No call is tried on more endpoints than this. */
const MOST_TRIES = 5;
/** A try is given at least this long, however many endpoints are left. */
const SHORTEST_TRY_MS = 500;
/** A token that was remembered, a new one, and one of the very member that refuses both. */
const MOST_TOKENS = 3;

/** Failures of one endpoint that another may not have. */
const elsewhere: ReadonlySet<EtcdErrorKind> = new Set<EtcdErrorKind>([
  "unavailable",
  "deadline",
  "untrusted-server",
  "client-certificate-refused",
  "request-timed-out",
  "no-leader",
  "leader-changed",
  "server-stopped",
  "rpc-not-supported-for-learner",
]);

/**
 * Refusals by what only the member that was asked sees. Its view of its peers can be wrong for as long as its streams
 * hold: a message that failed late marks a peer as inactive, and nothing marks it as active again (R19). So the next try
 * goes to another member.
 */
const ownView: ReadonlySet<EtcdErrorKind> = new Set<EtcdErrorKind>(["unhealthy-cluster"]);

/** With credentials at hand, these mean "authenticate (again)"; etcd refused the call before doing it. */
const needsToken: ReadonlySet<EtcdErrorKind> = new Set<EtcdErrorKind>([
  "auth-invalid-token",
  "auth-old-revision",
  "auth-user-required",
]);

export function callName(call: DescMethod): string {
  return `${call.parent.name}.${call.name}`;
}

async function* failing<T>(
  items: AsyncIterable<T> | Iterable<T>,
  translate: (error: unknown) => unknown,
): AsyncGenerator<T> {
  try {
    yield* items;
  } catch (error) {
    throw translate(error);
  }
}

export class Caller {
  readonly clock: Clock;
  readonly endpoints: EndpointSet;
  readonly #transport: EtcdTransport;
  readonly #tokens: Tokens | undefined;
  readonly #timeoutMs: number;
  #leader: Endpoint | undefined;

  constructor(options: CallerOptions) {
    this.clock = options.clock;
    this.endpoints = new EndpointSet(options.endpoints);
    this.#transport = options.transport;
    this.#timeoutMs = options.timeoutMs ?? DEFAULT_TIMEOUT_MS;
    const { credentials } = options;
    if (credentials !== undefined)
      this.#tokens = new Tokens(this.clock, this.#timeoutMs, (signal, endpoint, where) => {
        const voters = this.endpoints.voters(this.clock.monotonic()).slice(0, MOST_TRIES);
        // Before the first answer nobody is known but who is asked.
        const at = where === "any" && voters.length > 0 ? voters : [endpoint];
        return this.#login(typeof credentials === "function" ? credentials() : [credentials], signal, at);
      });
  }

  /** Asks this endpoint and no other. */
  async at<I extends DescMessage, O extends DescMessage>(
    endpoint: Endpoint,
    call: DescMethodUnary<I, O>,
    init: MessageInitShape<I>,
    options: CallOptions = {},
  ): Promise<MessageShape<O>> {
    const timeoutMs = options.timeoutMs ?? this.#timeoutMs;
    using limit = deadline(this.clock, timeoutMs, options.signal);
    return await this.#authenticated(call, endpoint, create(call.input, init), limit.signal, timeoutMs);
  }

  /**
   * Asks voters in turn until one answers. `repeatable` calls (reads) go on after any failure of an
   * endpoint; the others only when the failed try is known to have had no effect.
   */
  async voter<I extends DescMessage, O extends DescMessage>(
    call: DescMethodUnary<I, O>,
    init: MessageInitShape<I>,
    options: CallOptions & { repeatable: boolean; removes?: string | undefined },
  ): Promise<MessageShape<O>> {
    const timeoutMs = options.timeoutMs ?? this.#timeoutMs;
    const request = create(call.input, init);
    const end = this.clock.monotonic() + timeoutMs;
    const order = this.endpoints.voters(this.clock.monotonic(), options).slice(0, MOST_TRIES);
    let last: EtcdError | undefined;
    for (const [index, endpoint] of order.entries()) {
      const left = end - this.clock.monotonic();
      if (left <= 0) break;
      const tries = options.repeatable ? order.length - index : 1;
      const share = Math.ceil(Math.min(left, Math.max(SHORTEST_TRY_MS, left / tries)));
      using limit = deadline(this.clock, share, options.signal);
      try {
        const answer = await this.#authenticated(call, endpoint, request, limit.signal, share);
        this.endpoints.answered(endpoint);
        return answer;
      } catch (error) {
        if (!(error instanceof EtcdError)) throw error;
        last = error;
        if (ownView.has(error.kind)) this.endpoints.refused(endpoint, options.removes);
        if (!elsewhere.has(error.kind)) throw error;
        this.endpoints.failed(endpoint, this.clock.monotonic());
        if (!options.repeatable && error.outcome === "unknown") throw error;
      }
    }
    throw last ?? this.#noEndpoint(call);
  }

  /** Asks the leader (R18, R20), looking for it first, and once more when it has moved. */
  async leader<I extends DescMessage, O extends DescMessage>(
    call: DescMethodUnary<I, O>,
    init: MessageInitShape<I>,
    options: CallOptions = {},
  ): Promise<MessageShape<O>> {
    const timeoutMs = options.timeoutMs ?? this.#timeoutMs;
    using limit = deadline(this.clock, timeoutMs, options.signal);
    const request = create(call.input, init);
    const end = this.clock.monotonic() + timeoutMs;
    for (let tries = 0; ; tries++) {
      const known = this.#leader;
      const endpoint = known ?? (await this.findLeader({ signal: limit.signal, timeoutMs }));
      try {
        return await this.#authenticated(call, endpoint, request, limit.signal, end - this.clock.monotonic());
      } catch (error) {
        this.#leader = undefined;
        const moved =
          isEtcdError(error, "not-leader", "no-leader", "unavailable") && error.outcome === "not-applied";
        if (!moved || tries > 0 || known === undefined) throw error;
      }
    }
  }

  /** The endpoint whose member says that it leads. Endpoints that do not answer do not delay it. */
  async findLeader(options: CallOptions = {}): Promise<Endpoint> {
    const voters = this.endpoints.voters(this.clock.monotonic());
    if (voters.length === 0) throw this.#noEndpoint(Maintenance.method.status);
    const lookups = voters.map(async (endpoint) => {
      const status = await this.at(endpoint, Maintenance.method.status, {}, options);
      if (status.leader === 0n || status.header?.memberId !== status.leader)
        throw new EtcdError({
          kind: status.leader === 0n ? "no-leader" : "not-leader",
          call: callName(Maintenance.method.status),
          endpoint: describe(endpoint),
          code: "FAILED_PRECONDITION",
          said: status.leader === 0n ? "the member knows no leader" : "the member does not lead",
          outcome: "not-applied",
        });
      return endpoint;
    });
    try {
      const leader = await Promise.any(lookups);
      this.#leader = leader;
      return leader;
    } catch (error) {
      const causes = error instanceof AggregateError ? (error.errors as unknown[]) : [error];
      throw new EtcdError(
        {
          kind: "no-leader",
          call: callName(Maintenance.method.status),
          endpoint: voters.map(describe).join(", "),
          code: "UNAVAILABLE",
          said: `none of ${voters.length} endpoints leads: ${causes.map((cause) => (cause instanceof Error ? cause.message : String(cause))).join("; ")}`,
          outcome: "not-applied",
        },
        { cause: error },
      );
    }
  }

  /** Opens a stream on one endpoint. Failures while iterating are `EtcdError`s. */
  async stream<I extends DescMessage, O extends DescMessage>(
    call: DescMethodServerStreaming<I, O> | DescMethodBiDiStreaming<I, O>,
    endpoint: Endpoint,
    signal: AbortSignal,
    metadata: Readonly<Record<string, string>> = {},
  ): Promise<RpcStream<MessageShape<I>, MessageShape<O>>> {
    const token = await this.#tokenFor(call, endpoint, signal);
    const stream = this.#transport.stream(call, endpoint, {
      signal,
      metadata: token === undefined ? metadata : { ...metadata, token },
    });
    const fail = (error: unknown) => {
      const failure = this.#translate(error, call, endpoint, signal);
      if (failure instanceof EtcdError && needsToken.has(failure.kind)) this.#tokens?.refused(endpoint);
      return failure;
    };
    return {
      send: (request) => stream.send(request),
      end: () => stream.end(),
      cancel: () => stream.cancel(),
      [Symbol.asyncIterator]: () => failing(stream, fail),
      ...(stream.parsed && {
        parsed: <T>(parser: ChunkParser<T>) => failing(stream.parsed?.(parser) ?? [], fail),
      }),
    };
  }

  /** Forgets leader and token knowledge that belongs to endpoints no longer used. */
  replaceEndpoints(endpoints: readonly Endpoint[]): void {
    this.endpoints.replace(endpoints);
    const leader = this.#leader;
    if (leader !== undefined && !endpoints.some((endpoint) => sameEndpoint(endpoint, leader)))
      this.#leader = undefined;
  }

  async #authenticated<I extends DescMessage, O extends DescMessage>(
    call: DescMethodUnary<I, O>,
    endpoint: Endpoint,
    request: MessageShape<I>,
    signal: AbortSignal,
    timeoutMs: number,
  ): Promise<MessageShape<O>> {
    for (let tries = 1; ; tries++) {
      const token = await this.#tokenFor(call, endpoint, signal);
      try {
        const answer = await this.#once(call, endpoint, request, signal, timeoutMs, token);
        this.#tokens?.accepted(endpoint);
        return answer;
      } catch (error) {
        if (!this.#tokens || !isEtcdError(error) || !needsToken.has(error.kind)) throw error;
        this.#tokens.refused(endpoint);
        if (tries === MOST_TOKENS) throw error;
      }
    }
  }

  async #tokenFor(call: DescMethod, endpoint: Endpoint, signal: AbortSignal): Promise<string | undefined> {
    try {
      return await this.#tokens?.get(endpoint, signal);
    } catch (error) {
      if (error instanceof EtcdError) throw error;
      const failure = new RpcFailure("UNAVAILABLE", "no token before the deadline", "not-sent", {
        cause: error,
      });
      throw this.#translate(failure, call, endpoint, signal);
    }
  }

  async #login(
    all: readonly Credentials[],
    signal: AbortSignal,
    endpoints: readonly Endpoint[],
  ): Promise<string | undefined> {
    let wrong: EtcdError | undefined;
    for (const credentials of all) {
      try {
        return await this.#authenticate(credentials, signal, endpoints);
      } catch (error) {
        if (!isEtcdError(error, "auth-failed", "auth-no-password-user")) throw error;
        wrong = error;
      }
    }
    if (wrong) throw wrong;
    return undefined;
  }

  async #authenticate(
    credentials: Credentials,
    signal: AbortSignal,
    endpoints: readonly Endpoint[],
  ): Promise<string | undefined> {
    const call = Auth.method.authenticate;
    const request = create(call.input, { name: credentials.user, password: credentials.password });
    let last: EtcdError | undefined;
    for (const endpoint of endpoints) {
      using limit = deadline(this.clock, this.#timeoutMs / 2, signal);
      try {
        return (await this.#once(call, endpoint, request, limit.signal, this.#timeoutMs / 2, undefined))
          .token;
      } catch (error) {
        if (isEtcdError(error, "auth-not-enabled")) return undefined;
        if (!isEtcdError(error) || !elsewhere.has(error.kind)) throw error;
        last = error;
        this.endpoints.failed(endpoint, this.clock.monotonic());
      }
    }
    throw last ?? this.#noEndpoint(call);
  }

  async #once<I extends DescMessage, O extends DescMessage>(
    call: DescMethodUnary<I, O>,
    endpoint: Endpoint,
    request: MessageShape<I>,
    signal: AbortSignal,
    timeoutMs: number,
    token: string | undefined,
  ): Promise<MessageShape<O>> {
    try {
      return await this.#transport.unary(call, endpoint, request, {
        signal,
        timeoutMs,
        ...(token === undefined ? {} : { metadata: { token } }),
      });
    } catch (error) {
      throw this.#translate(error, call, endpoint, signal);
    }
  }

  /** A failure in our words. When our own deadline fired, it is a deadline whatever the transport says. */
  #translate(error: unknown, call: DescMethod, endpoint: Endpoint, signal: AbortSignal): unknown {
    if (!(error instanceof RpcFailure)) return error;
    const reason: unknown = signal.reason;
    if (signal.aborted && error.progress !== "answered") {
      const timedOut = reason instanceof DeadlineExceeded;
      const code = timedOut ? "DEADLINE_EXCEEDED" : "CANCELLED";
      const said = timedOut ? reason.message : "the caller ended the call";
      return toEtcdError(
        new RpcFailure(code, said, error.progress, { cause: error }),
        callName(call),
        describe(endpoint),
      );
    }
    // Nobody on our side cancelled it: the server did, on its way down.
    const ended = error.code === "CANCELLED" && error.progress === "answered";
    const failure = ended
      ? new RpcFailure("UNAVAILABLE", error.message, "answered", { cause: error })
      : error;
    return toEtcdError(failure, callName(call), describe(endpoint));
  }

  #noEndpoint(call: DescMethod): EtcdError {
    const known = this.endpoints.all.map(describe).join(", ");
    return new EtcdError({
      kind: known === "" ? "unavailable" : "rpc-not-supported-for-learner",
      call: callName(call),
      endpoint: known === "" ? "no endpoint" : known,
      code: "UNAVAILABLE",
      said: known === "" ? "no endpoint is known" : "only learners are known",
      outcome: "not-applied",
    });
  }
}
