/** One request and one answer on an HTTP/2 stream. */
import { constants, type ClientHttp2Stream } from "node:http2";
import { RpcFailure } from "../../seams/etcd-transport.ts";
import { wasRefused } from "./connection.ts";
import { FrameDecoder } from "./frame.ts";
import { StatusReader } from "./status.ts";

export function exchange(
  stream: ClientHttp2Stream,
  frame: Uint8Array,
  signal: AbortSignal,
): Promise<Uint8Array> {
  return new Promise((resolve, reject) => {
    const decoder = new FrameDecoder();
    const status = new StatusReader(stream);
    let answer: Uint8Array | undefined;
    let cause: unknown;

    const giveUp = (failure: RpcFailure, code: number) => {
      // Not left to "close": a peer that reads nothing any more would keep it from coming.
      reject(failure);
      stream.close(code);
    };
    const onAbort = () =>
      giveUp(
        new RpcFailure("CANCELLED", "ended by us", "interrupted", { cause: signal.reason }),
        constants.NGHTTP2_CANCEL,
      );
    stream.on("data", (chunk: Uint8Array) => {
      try {
        for (const message of decoder.push(chunk)) answer = message;
      } catch (error) {
        const failure = new RpcFailure("INTERNAL", String(error), "interrupted", { cause: error });
        giveUp(failure, constants.NGHTTP2_PROTOCOL_ERROR);
      }
    });
    stream.on("error", (error) => {
      cause = error;
    });
    stream.once("close", () => {
      signal.removeEventListener("abort", onAbort);
      if (status.ok && answer !== undefined) resolve(answer);
      else reject(status.failure ?? brokenOff(stream, cause));
    });
    if (signal.aborted) onAbort();
    else {
      signal.addEventListener("abort", onAbort, { once: true });
      stream.end(frame);
    }
  });
}

/** A stream that closed without a status. */
export function brokenOff(stream: ClientHttp2Stream, cause: unknown): RpcFailure {
  const progress = wasRefused(stream) ? "not-sent" : "interrupted";
  const premature = cause instanceof Error && "code" in cause && cause.code === "ERR_STREAM_PREMATURE_CLOSE";
  const why =
    cause instanceof Error && !premature ? cause.message : "the call was cut off before the server's status";
  return new RpcFailure("UNAVAILABLE", why, progress, { cause });
}
