/** One request and one answer on an HTTP/2 stream. */
import type { ClientHttp2Stream } from "node:http2";
import { Http2Failure } from "../../http2/failure.ts";
import { brokenOff, readAll } from "../../http2/stream.ts";
import { RpcFailure } from "../../seams/etcd-transport.ts";
import { FrameDecoder } from "./frame.ts";
import { rpcFailure, StatusReader } from "./status.ts";

export async function exchange(
  stream: ClientHttp2Stream,
  frame: Uint8Array,
  signal: AbortSignal,
  longest: number,
): Promise<Uint8Array> {
  const decoder = new FrameDecoder(longest);
  const status = new StatusReader(stream);
  let answer: Uint8Array | undefined;
  const reading = readAll(stream, signal, (chunk) => {
    for (const message of decoder.push(chunk)) answer = message;
  });
  if (!signal.aborted) stream.end(frame);
  const { cause } = await reading.catch((error: unknown) => {
    if (error instanceof Http2Failure) throw rpcFailure(error);
    throw new RpcFailure("INTERNAL", String(error), "interrupted", { cause: error });
  });
  if (status.ok && answer !== undefined) return answer;
  throw status.failure ?? rpcFailure(brokenOff(stream, cause));
}
