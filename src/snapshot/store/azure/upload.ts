/**
 * Writes one blob: small ones in a single request, larger ones as blocks, a few of them on their way at a time. Nothing
 * appears before the list of blocks, which is conditional on the name being free. Blocks that nobody lists are
 * forgotten by the store after a week.
 */
import { Parts } from "../http/parts.ts";
import { sendParts } from "../http/send-parts.ts";
import { StoreError, type PutOptions } from "../store.ts";
import type { AzureClient } from "./client.ts";
import { AzureFailure, storeError } from "./errors.ts";

const MOST_BLOCKS = 50_000;

export interface UploadOptions extends PutOptions {
  readonly client: AzureClient;
  readonly key: string;
  readonly doing: string;
  /** Of encryption by the store. */
  readonly headers: Readonly<Record<string, string>>;
  /** Sets the blocks of this upload apart from those of another that was given up. */
  readonly upload: string;
  /** The object as it is now, for the case that an answer was lost. */
  readonly matches: (bytes: Uint8Array) => Promise<boolean>;
  readonly size: () => Promise<number | undefined>;
}

export async function upload(body: AsyncIterable<Uint8Array>, options: UploadOptions): Promise<void> {
  const parts = new Parts(body);
  try {
    const first = await parts.next();
    if (first.last) await putWhole(first.bytes, options);
    else await putBlocks(first.bytes, parts, options);
  } finally {
    await parts.close();
  }
}

const ifFree = ({ ifAbsent }: UploadOptions): Readonly<Record<string, string>> =>
  ifAbsent ? { "if-none-match": "*" } : {};
const isTaken = ({ status }: AzureFailure) => status === 409 || status === 412;

async function putWhole(bytes: Uint8Array, options: UploadOptions): Promise<void> {
  const { client, key, doing, signal } = options;
  let repeated = false;
  const answer = await client.send(
    {
      method: "PUT",
      key,
      headers: { "x-ms-blob-type": "BlockBlob", ...options.headers, ...ifFree(options) },
      body: bytes,
      signal,
      doing,
      onRetry: () => (repeated = true),
    },
    isTaken,
  );
  if (!(answer instanceof AzureFailure)) return;
  // Ours, if the answer to an earlier try was lost.
  if (repeated && (await options.matches(bytes))) return;
  throw storeError(doing, answer);
}

async function putBlocks(first: Buffer, parts: Parts, options: UploadOptions): Promise<void> {
  const { client, key, doing, signal } = options;
  // All of one length, as the store demands of the blocks of a blob.
  const idOf = (number: number) =>
    Buffer.from(`${options.upload}-${String(number).padStart(6, "0")}`).toString("base64");
  const { count, size } = await sendParts(
    first,
    parts,
    { most: MOST_BLOCKS, doing },
    async (bytes, number) => {
      const query = { comp: "block", blockid: idOf(number) };
      await client.send({ method: "PUT", key, query, headers: options.headers, body: bytes, signal, doing });
    },
  );
  const list = Array.from({ length: count }, (_, index) => `<Latest>${idOf(index + 1)}</Latest>`);
  let repeated = false;
  const answer = await client.send(
    {
      method: "PUT",
      key,
      query: { comp: "blocklist" },
      headers: { ...options.headers, ...ifFree(options) },
      body: Buffer.from(`<?xml version="1.0" encoding="utf-8"?><BlockList>${list.join("")}</BlockList>`),
      signal,
      doing,
      onRetry: () => (repeated = true),
    },
    (failure) => isTaken(failure) || failure.code === "InvalidBlockList",
  );
  const found = answer instanceof AzureFailure && !repeated ? undefined : await options.size();
  if (answer instanceof AzureFailure && found !== size) throw storeError(doing, answer);
  if (found !== size)
    throw new StoreError(
      "failed",
      `cannot ${doing}: ${size} bytes were sent, and the store has ${found ?? "none"}`,
    );
}
