/** Reads an object as it comes. A connection that breaks is taken up where it broke, on the same version of the object. */
import { isStoreError, StoreError, type Range } from "../store.ts";
import { NetworkError, type HttpStream } from "./http.ts";
import { TRIES } from "./retry.ts";

export interface Reading {
  /** In messages: `read s3://bucket/a.db`. */
  readonly doing: string;
  readonly signal: AbortSignal;
  readonly range: Range | undefined;
  /** Asks for the rest, of the version that the first answer named. */
  readonly open: (
    headers: Readonly<Record<string, string>>,
    version: string | undefined,
  ) => Promise<HttpStream>;
  readonly versionOf: (answer: HttpStream) => string | undefined;
  readonly wait: (failures: number, signal: AbortSignal) => Promise<void>;
}

export async function* resumed(reading: Reading): AsyncGenerator<Uint8Array> {
  const { doing, signal, range } = reading;
  let at = range?.start ?? 0;
  const end = range?.length === undefined ? undefined : at + range.length;
  let version: string | undefined;
  for (let failures = 0; ;) {
    const isPart = at > 0 || end !== undefined;
    const headers: Record<string, string> = isPart
      ? { range: `bytes=${at}-${end === undefined ? "" : end - 1}` }
      : {};
    const answer = await begin(reading, headers, version);
    version ??= reading.versionOf(answer);
    if (isPart && answer.status !== 206) {
      answer.body.destroy();
      throw new StoreError("failed", `cannot ${doing}: the store ignored the range that was asked for`);
    }
    const expected = Number(answer.headers["content-length"] ?? Number.NaN);
    let got = 0;
    let cause: unknown;
    try {
      for await (const part of answer.body as AsyncIterable<Buffer>) {
        got += part.length;
        at += part.length;
        failures = 0;
        yield part;
      }
    } catch (error) {
      signal.throwIfAborted();
      cause = error;
    } finally {
      answer.body.destroy();
    }
    if (cause === undefined && (Number.isNaN(expected) || got === expected)) return;
    if (++failures >= TRIES)
      throw new StoreError(
        "interrupted",
        `cannot ${doing}: the connection broke off at byte ${at}, ${TRIES} times${why(cause)}; try again`,
        { cause },
      );
    await reading.wait(failures, signal);
  }
}

function why(cause: unknown): string {
  return cause instanceof NetworkError ? ` (${cause.message})` : "";
}

async function begin(
  { open, doing }: Reading,
  headers: Readonly<Record<string, string>>,
  version: string | undefined,
): Promise<HttpStream> {
  try {
    return await open(headers, version);
  } catch (error) {
    // Another version took its place while it was read: the bytes would not fit together.
    if (isStoreError(error, "exists"))
      throw new StoreError(
        "interrupted",
        `cannot ${doing}: the object changed while it was read; try again`,
        {
          cause: error,
        },
      );
    throw error;
  }
}
