/**
 * Writes of one object, as all stores have them: small ones in a single request, larger ones in parts of which nothing is
 * seen before the last request. Whether a lost answer was a success is told by what the store then has.
 */
import { StoreError, type PutOptions } from "../store.ts";
import type { HttpFailure } from "./failure.ts";
import { Parts } from "./parts.ts";

export interface UploadOptions<Client> extends PutOptions {
  readonly client: Client;
  readonly key: string;
  /** In messages: `write s3://bucket/a.db`. */
  readonly doing: string;
}

/** Of stores that tell an object by its size and content alone. */
export interface ComparedUpload<Client> extends UploadOptions<Client> {
  /** Of encryption by the store. */
  readonly headers: Readonly<Record<string, string>>;
  /** The object as it is now, for the case that an answer was lost. */
  readonly matches: (bytes: Uint8Array) => Promise<boolean>;
  readonly size: () => Promise<number | undefined>;
}

export async function uploadBy(
  body: AsyncIterable<Uint8Array>,
  ways: {
    readonly whole: (bytes: Buffer) => Promise<void>;
    readonly inParts: (first: Buffer, parts: Parts) => Promise<void>;
  },
): Promise<void> {
  const parts = new Parts(body);
  try {
    const first = await parts.next();
    if (first.last) await ways.whole(first.bytes);
    else await ways.inParts(first.bytes, parts);
  } finally {
    await parts.close();
  }
}

export const ifFree = ({ ifAbsent }: PutOptions): Readonly<Record<string, string>> =>
  ifAbsent ? { "if-none-match": "*" } : {};

/** How the last request ended: `failure` for a refusal, `repeated` if an answer before it was lost. */
export interface Ended<F extends HttpFailure> {
  readonly failure: F | undefined;
  readonly repeated: boolean;
  readonly explain: (doing: string, failure: F) => StoreError;
}

/** A refused small object is ours, if the answer to an earlier try was lost and it is there. */
export async function requireWhole<F extends HttpFailure>(
  bytes: Uint8Array,
  { matches, doing }: Pick<ComparedUpload<unknown>, "matches" | "doing">,
  { failure, repeated, explain }: Ended<F>,
): Promise<void> {
  if (failure === undefined || (repeated && (await matches(bytes)))) return;
  throw explain(doing, failure);
}

/** What was sent in parts is there with its whole size. */
export async function requireSize<F extends HttpFailure>(
  size: number,
  options: Pick<ComparedUpload<unknown>, "size" | "doing">,
  { failure, repeated, explain }: Ended<F>,
): Promise<void> {
  const { doing } = options;
  const found = failure !== undefined && !repeated ? undefined : await options.size();
  if (failure !== undefined && found !== size) throw explain(doing, failure);
  if (found !== size)
    throw new StoreError(
      "failed",
      `cannot ${doing}: ${size} bytes were sent, and the store has ${found ?? "none"}`,
    );
}
