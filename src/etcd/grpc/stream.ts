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
import { RpcFailure, type RpcStream } from "../../seams/etcd-transport.ts";
import { encodeFrame, FrameDecoder } from "./frame.ts";
import { StatusReader } from "./status.ts";
import { brokenOff } from "./unary.ts";

export class GrpcStream<I extends DescMessage, O extends DescMessage> implements RpcStream<
  MessageShape<I>,
  MessageShape<O>
> {
  readonly #call: DescMethod & { input: I; output: O };
  readonly #signal: AbortSignal;
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
  ) {
    this.#call = call;
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
    const stream = await this.#opening;
    const decoder = new FrameDecoder();
    const onAbort = () => stream.close(constants.NGHTTP2_CANCEL);
    this.#signal.addEventListener("abort", onAbort, { once: true });
    let cause: unknown;
    try {
      if (this.#signal.aborted) onAbort();
      for await (const chunk of stream as AsyncIterable<Uint8Array>)
        for (const message of decoder.push(chunk)) yield fromBinary(this.#call.output, message);
      // The status may follow the end of the data by a tick.
      if (!stream.closed) await closed(stream);
    } catch (error) {
      cause = error;
    } finally {
      this.#signal.removeEventListener("abort", onAbort);
      // Reached the end, failed, or the reader left its loop: in any case nothing more is wanted.
      if (!stream.closed) stream.close(constants.NGHTTP2_CANCEL);
    }
    if (this.#cancelled) return;
    if (this.#signal.aborted) throw new RpcFailure("CANCELLED", "ended by us", "interrupted", { cause });
    if (this.#status?.failure !== undefined) throw this.#status.failure;
    if (cause !== undefined || this.#status?.ok !== true || decoder.pending) throw brokenOff(stream, cause);
  }

  #opened(stream: ClientHttp2Stream): ClientHttp2Stream {
    this.#stream = stream;
    this.#status = new StatusReader(stream);
    stream.on("error", () => undefined); // Iteration throws it.
    for (const frame of this.#early.splice(0)) stream.write(frame);
    if (this.#ended) stream.end();
    if (this.#cancelled || this.#signal.aborted) stream.close(constants.NGHTTP2_CANCEL);
    return stream;
  }
}

/** The server has ended; ending our side too closes the stream. */
function closed(stream: ClientHttp2Stream): Promise<void> {
  return new Promise((resolve) => {
    stream.once("close", resolve);
    stream.end();
  });
}
