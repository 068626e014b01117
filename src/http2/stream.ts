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

/** What may lie here until the reader takes it; the rest waits with the server. */
const READ_AHEAD = 1024 * 1024;

/** What becomes of a chunk, the moment it arrives. */
type Take<T> = (chunk: Uint8Array) => Iterable<T>;

/** By events: reading from a stream joins all that has come into a new buffer, which copies every byte once more. */
async function* arriving<T>(stream: ClientHttp2Stream, take: Take<T>): AsyncGenerator<T> {
  let queue: T[] = [];
  let queued = 0;
  let state = "open" as "open" | "ended" | "closed";
  let failure: Error | undefined;
  let wake: (() => void) | undefined;
  const onData = (chunk: Uint8Array) => {
    try {
      for (const item of take(chunk)) queue.push(item);
    } catch (error) {
      failure ??= error instanceof Error ? error : new Error(String(error));
      stream.off("data", onData);
    }
    queued += chunk.length;
    if (queued >= READ_AHEAD && queue.length > 0) stream.pause();
    // Nothing to hand on yet: the reader sleeps until there is.
    if (queue.length > 0 || failure !== undefined) wake?.();
  };
  const onEnd = () => {
    state = "ended";
    wake?.();
  };
  const onError = (error: Error) => {
    failure = error;
    wake?.();
  };
  const onClose = () => {
    if (state === "open") state = "closed";
    wake?.();
  };
  stream.on("data", onData).on("end", onEnd).on("error", onError).on("close", onClose);
  try {
    if (stream.destroyed && !stream.readableEnded) state = "closed";
    for (;;) {
      const taken = queue;
      queue = [];
      queued = 0;
      if (stream.isPaused()) stream.resume();
      yield* taken;
      if (queue.length > 0) continue;
      if (failure !== undefined) throw failure;
      if (state === "ended") return;
      if (state === "closed")
        throw Object.assign(new Error("closed early"), { code: "ERR_STREAM_PREMATURE_CLOSE" });
      await new Promise<void>((resolve) => (wake = resolve));
      wake = undefined;
    }
  } finally {
    stream.off("data", onData).off("end", onEnd).off("error", onError).off("close", onClose);
  }
}

/** What comes, as it comes. Leaving the loop ends the stream; so does the signal, with a failure. */
export async function* chunksOf(stream: ClientHttp2Stream, signal: AbortSignal): AsyncGenerator<Uint8Array> {
  yield* reading(stream, signal, () => stream as AsyncIterable<Uint8Array>);
}

/** For large downloads: what `take` makes of each chunk. It is called when the chunk arrives. */
export async function* takenFrom<T>(
  stream: ClientHttp2Stream,
  signal: AbortSignal,
  take: Take<T>,
): AsyncGenerator<T> {
  yield* reading(stream, signal, () => arriving(stream, take));
}

async function* reading<T>(
  stream: ClientHttp2Stream,
  signal: AbortSignal,
  open: () => AsyncIterable<T>,
): AsyncGenerator<T> {
  const onAbort = () => stream.close(constants.NGHTTP2_CANCEL);
  signal.addEventListener("abort", onAbort, { once: true });
  try {
    if (signal.aborted) onAbort();
    yield* open();
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
