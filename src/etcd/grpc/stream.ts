/**
 * A call with a stream of answers. Requests given before the connection is there are kept and sent
 * then. Reading pulls, so a slow reader slows the server down through HTTP/2's flow control.
 */
import {
  fromBinary,
  toBinary,
  type DescMessage,
  type DescMethod,
  type MessageShape,
} from "@bufbuild/protobuf";
import { constants, type ClientHttp2Stream } from "node:http2";
import { ended, Http2Failure } from "../../http2/failure.ts";
import { brokenOff, chunksOf, takenFrom } from "../../http2/stream.ts";
import type { ChunkParser, RpcStream } from "../../seams/etcd-transport.ts";
import { encodeFrame, FrameDecoder } from "./frame.ts";
import { rpcFailure, StatusReader } from "./status.ts";

export class GrpcStream<I extends DescMessage, O extends DescMessage> implements RpcStream<
  MessageShape<I>,
  MessageShape<O>
> {
  readonly #call: DescMethod & { input: I; output: O };
  readonly #signal: AbortSignal;
  readonly #longest: number;
  readonly #opening: Promise<ClientHttp2Stream>;
  #stream: ClientHttp2Stream | undefined;
  readonly #early: Uint8Array[] = [];
  #ended = false;
  #cancelled = false;
  #status: StatusReader | undefined;

  constructor(
    call: DescMethod & { input: I; output: O },
    open: () => Promise<ClientHttp2Stream>,
    signal: AbortSignal,
    longest: number,
  ) {
    this.#call = call;
    this.#longest = longest;
    this.#signal = signal;
    this.#opening = open().then((stream) => this.#opened(stream));
    // Whoever iterates gets the failure; a stream nobody reads must not end the process.
    this.#opening.catch(() => undefined);
  }

  send(request: MessageShape<I>): void {
    if (this.#ended || this.#cancelled) return;
    const frame = encodeFrame(toBinary(this.#call.input, request));
    if (this.#stream === undefined) this.#early.push(frame);
    else if (this.#stream.writable) this.#stream.write(frame);
  }

  end(): void {
    this.#ended = true;
    this.#stream?.end();
  }

  cancel(): void {
    this.#cancelled = true;
    this.#stream?.close(constants.NGHTTP2_CANCEL);
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<MessageShape<O>> {
    const decoder = new FrameDecoder(this.#longest);
    const messages = (stream: ClientHttp2Stream) => framed(chunksOf(stream, this.#signal), decoder);
    for await (const message of this.#read(decoder, messages)) yield fromBinary(this.#call.output, message);
  }

  parsed<T>(parser: ChunkParser<T>): AsyncGenerator<T> {
    const taken = (stream: ClientHttp2Stream) =>
      takenFrom(stream, this.#signal, (chunk) => parser.push(chunk));
    return this.#read(parser, taken);
  }

  async *#read<T>(
    decoder: ChunkParser<T>,
    open: (stream: ClientHttp2Stream) => AsyncGenerator<T>,
  ): AsyncGenerator<T> {
    const stream = await this.#opening;
    let cause: unknown;
    try {
      yield* open(stream);
    } catch (error) {
      cause = error;
    }
    if (this.#cancelled) return;
    if (this.#signal.aborted) throw rpcFailure(ended(this.#signal, "interrupted"));
    if (this.#status?.failure !== undefined) throw this.#status.failure;
    if (cause !== undefined || this.#status?.ok !== true || decoder.pending)
      throw rpcFailure(cause instanceof Http2Failure ? cause : brokenOff(stream, cause));
    yield* decoder.rest?.() ?? [];
  }

  #opened(stream: ClientHttp2Stream): ClientHttp2Stream {
    this.#stream = stream;
    this.#status = new StatusReader(stream);
    for (const frame of this.#early.splice(0)) stream.write(frame);
    if (this.#ended) stream.end();
    if (this.#cancelled || this.#signal.aborted) stream.close(constants.NGHTTP2_CANCEL);
    return stream;
  }
}

async function* framed<T>(chunks: AsyncIterable<Uint8Array>, decoder: ChunkParser<T>): AsyncGenerator<T> {
  for await (const chunk of chunks) yield* decoder.push(chunk);
}
