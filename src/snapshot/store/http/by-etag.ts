/** Objects of stores that tell their versions by ETag, which S3 and Azure do: read as one version, and compared. */
import type { Range } from "../store.ts";
import type { HttpStream } from "./http.ts";
import { resumed } from "./resume.ts";

interface Client {
  stream(request: {
    readonly method: "GET";
    readonly key: string;
    readonly headers: Readonly<Record<string, string>>;
    readonly signal: AbortSignal;
    readonly doing: string;
  }): Promise<HttpStream>;
  readonly retries: { wait(failures: number, signal: AbortSignal): Promise<void> };
}

interface Read {
  readonly key: string;
  /** In messages: `read s3://bucket/a.db`. */
  readonly doing: string;
  readonly signal: AbortSignal;
  readonly range?: Range | undefined;
}

export function readByETag(client: Client, { key, doing, signal, range }: Read): AsyncGenerator<Uint8Array> {
  return resumed({
    doing,
    signal,
    range,
    open: async (headers, etag) =>
      await client.stream({
        method: "GET",
        key,
        headers: { ...headers, ...(etag !== undefined && { "if-match": etag }) },
        signal,
        doing,
      }),
    versionOf: ({ headers }) => headers.etag,
    wait: async (failures) => await client.retries.wait(failures, signal),
  });
}

/** Whether what is read are these bytes. */
export async function isSame(read: AsyncIterable<Uint8Array>, bytes: Uint8Array): Promise<boolean> {
  const parts: Uint8Array[] = [];
  for await (const part of read) parts.push(part);
  return Buffer.concat(parts).equals(bytes);
}
