/**
 * Talking to etcd as a port. The client hands over message objects and a call's description; the real
 * transport (`src/etcd/grpc/`) turns them into gRPC, the simulator answers with objects and no bytes.
 */
import type {
  DescMessage,
  DescMethodBiDiStreaming,
  DescMethodServerStreaming,
  DescMethodUnary,
  MessageShape,
} from "@bufbuild/protobuf";

/** Where one member serves clients. */
export interface Endpoint {
  /** The member's name, for messages and to address one member. */
  readonly name?: string;
  /** `https://10.0.0.7:2379` or `http://…`; the host may be an IP address. */
  readonly url: string;
  /** The DNS name that the server's certificate must carry, when the URL dials another one. */
  readonly serverName?: string;
  /** Known to be a learner: it is never asked for what only a voter answers (R17). */
  readonly learner?: boolean;
}

export interface RpcOptions {
  /** Ends the call. The caller's deadline is in here. */
  readonly signal: AbortSignal;
  /** What is left of the deadline, told to the server so that it gives up too. */
  readonly timeoutMs?: number;
  /** Request metadata (lower-case names), such as etcd's `token` and `hasleader`. */
  readonly metadata?: Readonly<Record<string, string>>;
}

type AnyStreaming<I extends DescMessage, O extends DescMessage> =
  | DescMethodServerStreaming<I, O>
  | DescMethodBiDiStreaming<I, O>;

/** An open stream. Iterating reads (with back-pressure) and throws `RpcFailure`; leaving the loop cancels. */
export interface RpcStream<Request, Response> extends AsyncIterable<Response> {
  /** Sends one request. Ignored after the stream ended. */
  send(request: Request): void;
  /** No more requests. */
  end(): void;
  /** Ends the stream from our side; iteration then ends without an error. */
  cancel(): void;
  /**
   * Instead of iterating: the answers through a parser of the caller's, from the chunks of the network as they come.
   * A model without bytes has none.
   */
  parsed?<T>(parser: ChunkParser<T>): AsyncIterable<T>;
}

export interface ChunkParser<T> {
  /** Called as chunks arrive, up to a megabyte ahead of the reader. */
  push(chunk: Uint8Array): Iterable<T>;
  /** What is left at the end of a whole stream. */
  rest?(): Iterable<T>;
  /** True while a message is incomplete. */
  readonly pending: boolean;
}

export interface EtcdTransport {
  /** One request, one answer. Rejects with `RpcFailure`, whatever went wrong. */
  unary<I extends DescMessage, O extends DescMessage>(
    call: DescMethodUnary<I, O>,
    endpoint: Endpoint,
    request: MessageShape<I>,
    options: RpcOptions,
  ): Promise<MessageShape<O>>;
  /** Opens a stream at once; failures, also of connecting, surface while iterating. */
  stream<I extends DescMessage, O extends DescMessage>(
    call: AnyStreaming<I, O>,
    endpoint: Endpoint,
    options: RpcOptions,
  ): RpcStream<MessageShape<I>, MessageShape<O>>;
  /** Ends every call and lets go of every connection. */
  close(): Promise<void>;
}

/** The gRPC status codes by number. */
export const grpcCodes = [
  "OK",
  "CANCELLED",
  "UNKNOWN",
  "INVALID_ARGUMENT",
  "DEADLINE_EXCEEDED",
  "NOT_FOUND",
  "ALREADY_EXISTS",
  "PERMISSION_DENIED",
  "RESOURCE_EXHAUSTED",
  "FAILED_PRECONDITION",
  "ABORTED",
  "OUT_OF_RANGE",
  "UNIMPLEMENTED",
  "INTERNAL",
  "UNAVAILABLE",
  "DATA_LOSS",
  "UNAUTHENTICATED",
] as const;

export type GrpcCode = (typeof grpcCodes)[number];

/**
 * How far a failed call got. `not-sent`: no byte of it left (it can be sent elsewhere);
 * `answered`: the server itself reported the failure; `interrupted`: sent, and no answer came.
 */
export type RpcProgress = "not-sent" | "answered" | "interrupted";

/** A TLS handshake that failed for what it found: our trust in the server, or the server's in us. */
export type TlsFault = "untrusted-server" | "client-certificate-refused";

/** A call that did not succeed, as the transport saw it; `src/etcd/errors.ts` gives it meaning. */
export class RpcFailure extends Error {
  override name = "RpcFailure";
  readonly code: GrpcCode;
  readonly progress: RpcProgress;
  readonly tls: TlsFault | undefined;
  constructor(
    code: GrpcCode,
    message: string,
    progress: RpcProgress,
    options?: ErrorOptions & { tls?: TlsFault },
  ) {
    super(message, options);
    this.code = code;
    this.progress = progress;
    this.tls = options?.tls;
  }
}
