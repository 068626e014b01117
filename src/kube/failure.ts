/** What went wrong below the client, in the words of `KubeTransport`. */
import { Http2Failure } from "../http2/failure.ts";
import { KubeFailure } from "../seams/kube-transport.ts";

export function asFailure(error: unknown): KubeFailure {
  if (error instanceof KubeFailure) return error;
  if (error instanceof Http2Failure) {
    const why = error.fault === "client-certificate-refused" ? "connection" : error.fault;
    return new KubeFailure(error.progress, why, error.message, { cause: error.cause });
  }
  const message = error instanceof Error ? error.message : String(error);
  return new KubeFailure("interrupted", "connection", message, { cause: error });
}
