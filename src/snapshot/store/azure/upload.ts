/**
 * Writes one blob: small ones in a single request, larger ones as blocks, a few of them on their way at a time. Nothing
 * appears before the list of blocks, which is conditional on the name being free. Blocks that nobody lists are
 * forgotten by the store after a week.
 */
import type { Parts } from "../http/parts.ts";
import { sendParts } from "../http/send-parts.ts";
import { ifFree, requireSize, requireWhole, uploadBy, type ComparedUpload } from "../http/upload.ts";
import type { AzureClient } from "./client.ts";
import { AzureFailure, storeError } from "./errors.ts";

const MOST_BLOCKS = 50_000;

export interface AzureUpload extends ComparedUpload<AzureClient> {
  /** Sets the blocks of this upload apart from those of another that was given up. */
  readonly upload: string;
}

export async function upload(body: AsyncIterable<Uint8Array>, options: AzureUpload): Promise<void> {
  await uploadBy(body, {
    whole: async (bytes) => await putWhole(bytes, options),
    inParts: async (first, parts) => await putBlocks(first, parts, options),
  });
}

const isTaken = ({ status }: AzureFailure) => status === 409 || status === 412;

/** The request that makes the blob appear, and how it ended. */
async function lastPut(
  request: {
    readonly query?: Readonly<Record<string, string>>;
    readonly headers: Readonly<Record<string, string>>;
    readonly body: Uint8Array;
  },
  accept: (failure: AzureFailure) => boolean,
  options: AzureUpload,
) {
  const { client, key, doing, signal } = options;
  let repeated = false;
  const headers = { ...request.headers, ...options.headers, ...ifFree(options) };
  const onRetry = () => (repeated = true);
  const answer = await client.send(
    { ...request, method: "PUT", key, headers, signal, doing, onRetry },
    accept,
  );
  return { failure: answer instanceof AzureFailure ? answer : undefined, repeated, explain: storeError };
}

async function putWhole(bytes: Uint8Array, options: AzureUpload): Promise<void> {
  const request = { headers: { "x-ms-blob-type": "BlockBlob" }, body: bytes };
  await requireWhole(bytes, options, await lastPut(request, isTaken, options));
}

async function putBlocks(first: Buffer, parts: Parts, options: AzureUpload): Promise<void> {
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
  const body = Buffer.from(`<?xml version="1.0" encoding="utf-8"?><BlockList>${list.join("")}</BlockList>`);
  const isEnd = (failure: AzureFailure) => isTaken(failure) || failure.code === "InvalidBlockList";
  const ended = await lastPut({ query: { comp: "blocklist" }, headers: {}, body }, isEnd, options);
  await requireSize(size, options, ended);
}
