/** Reading an answer from an HTTP/2 stream: whole, or chunk by chunk as fast as the reader pulls. */
import { constants, type ClientHttp2Stream } from "node:http2";
import { ended, Http2Failure } from "./failure.ts";

/** A stream that closed before its answer was whole. */
export function brokenOff(stream: ClientHttp2Stream, cause: unknown): Http2Failure {
  // Refused: the server says that it has not looked at it.
  const progress = stream.rstCode === constants.NGHTTP2_REFUSED_STREAM ? "not-sent" : "interrupted";
  const premature = cause instanceof Error && "code" in cause && cause.code === "ERR_STREAM_PREMATURE_CLOSE";
  const why =
    cause instanceof Error && !premature
      ? cause.message
      : "the connection closed before the response was complete";
  return new Http2Failure(progress, "connection", why, { cause });
}

/**
 * Reads until the stream closes. `whole`: the server said that this is all. Rejects with what `onChunk` throws, and at
 * once when the signal aborts, which is not left to "close": a peer that reads nothing any more would keep it from
 * coming.
 */
export function readAll(
  stream: ClientHttp2Stream,
  signal: AbortSignal,
  onChunk: (chunk: Uint8Array) => void,
): Promise<{ whole: boolean; cause: unknown }> {
  return new Promise((resolve, reject) => {
    let atEnd = false;
    let cause: unknown;
    const giveUp = (error: unknown, code: number) => {
      reject(error instanceof Error ? error : new Error(String(error)));
      stream.close(code);
    };
    const onAbort = () => giveUp(ended(signal, "interrupted"), constants.NGHTTP2_CANCEL);
    stream.on("data", (chunk: Uint8Array) => {
      try {
        onChunk(chunk);
      } catch (error) {
        giveUp(error, constants.NGHTTP2_PROTOCOL_ERROR);
      }
    });
    stream.on("error", (error) => {
      cause = error;
    });
    stream.once("end", () => {
      atEnd = true;
    });
    stream.once("close", () => {
      signal.removeEventListener("abort", onAbort);
      resolve({ whole: atEnd && stream.rstCode === constants.NGHTTP2_NO_ERROR, cause });
    });
    if (signal.aborted) onAbort();
    else signal.addEventListener("abort", onAbort, { once: true });
  });
}

/** What comes, as it comes. Leaving the loop ends the stream; so does the signal, with a failure. */
export async function* chunksOf(stream: ClientHttp2Stream, signal: AbortSignal): AsyncGenerator<Uint8Array> {
  const onAbort = () => stream.close(constants.NGHTTP2_CANCEL);
  signal.addEventListener("abort", onAbort, { once: true });
  try {
    if (signal.aborted) onAbort();
    yield* stream as AsyncIterable<Uint8Array>;
    // Trailers may follow the end of the data by a tick; ending our side too closes the stream.
    if (!stream.closed) await new Promise<void>((resolve) => stream.once("close", resolve).end());
  } catch (error) {
    if (!signal.aborted) throw brokenOff(stream, error);
  } finally {
    signal.removeEventListener("abort", onAbort);
    // Reached the end, failed, or the reader left its loop: in any case nothing more is wanted.
    if (!stream.closed) stream.close(constants.NGHTTP2_CANCEL);
  }
  if (signal.aborted) throw ended(signal, "interrupted");
}
