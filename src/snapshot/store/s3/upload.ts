/**
 * Writes one object: small ones in a single request, larger ones in parts, a few of them on their way at a time and
 * none kept longer. Every request carries the SHA-256 of its body, which the store checks. Nothing appears before the
 * last request, which is conditional on the name being free.
 */
import { StoreError, type PutOptions } from "../store.ts";
import type { S3Client } from "./client.ts";
import { S3Failure, storeError } from "./errors.ts";
import type { HttpAnswer } from "../http/http.ts";
import { Parts } from "../http/parts.ts";
import { sendParts } from "../http/send-parts.ts";
import { encodeXml, textOf } from "../http/xml.ts";

const MOST_PARTS = 10_000;

export interface UploadOptions extends PutOptions {
  readonly client: S3Client;
  readonly key: string;
  readonly doing: string;
  /** Of server-side encryption. */
  readonly headers: Readonly<Record<string, string>>;
  /** The object as it is now, for the case that an answer was lost. */
  readonly matches: (bytes: Uint8Array) => Promise<boolean>;
  readonly size: () => Promise<number | undefined>;
}

export async function upload(body: AsyncIterable<Uint8Array>, options: UploadOptions): Promise<void> {
  const parts = new Parts(body);
  try {
    const first = await parts.next();
    if (first.last) await putWhole(first.bytes, options);
    else await putParts(first.bytes, parts, options);
  } finally {
    await parts.close();
  }
}

const ifFree = (options: UploadOptions, free: boolean): Readonly<Record<string, string>> =>
  options.ifAbsent && free ? { "if-none-match": "*" } : {};
const isTaken = ({ status, code }: S3Failure) => status === 412 || code === "PreconditionFailed";
/** A store without conditional writes: the name was looked at before, which must do. */
const isUnconditional = ({ status, code }: S3Failure) => status === 501 || code === "NotImplemented";

async function putWhole(bytes: Uint8Array, options: UploadOptions): Promise<void> {
  const { client, key, doing, signal } = options;
  let repeated = false;
  const put = async (free: boolean) =>
    await client.send(
      {
        method: "PUT",
        key,
        headers: { ...options.headers, ...ifFree(options, free) },
        body: bytes,
        signal,
        doing,
        onRetry: () => (repeated = true),
      },
      (failure) => isTaken(failure) || (free && isUnconditional(failure)),
    );
  let answer = await put(true);
  if (answer instanceof S3Failure && isUnconditional(answer)) answer = await put(false);
  if (!(answer instanceof S3Failure)) return;
  // Ours, if the answer to an earlier try was lost.
  if (repeated && (await options.matches(bytes))) return;
  throw storeError(doing, answer);
}

async function putParts(first: Buffer, parts: Parts, options: UploadOptions): Promise<void> {
  const { client, key, doing, signal } = options;
  const started = (await client.send({
    method: "POST",
    key,
    query: { uploads: "" },
    headers: { "content-type": "application/octet-stream", ...options.headers },
    body: Buffer.alloc(0),
    signal,
    doing,
  })) as HttpAnswer;
  const uploadId = textOf(started.body.toString("utf8"), "UploadId");
  if (uploadId === undefined)
    throw new StoreError("failed", `cannot ${doing}: the store began an upload without naming it`);
  try {
    const tags: string[] = [];
    const { size } = await sendParts(first, parts, { most: MOST_PARTS, doing }, async (bytes, number) => {
      const query = { partNumber: String(number), uploadId };
      const answer = await client.send({ method: "PUT", key, query, body: bytes, signal, doing });
      tags[number - 1] = (answer as HttpAnswer).headers.etag ?? "";
    });
    await complete(tags, size, options, uploadId);
  } catch (error) {
    // Parts that nobody completes cost money; a rule of the bucket's life cycle should end those that are left.
    const aborting = {
      method: "DELETE",
      key,
      query: { uploadId },
      signal: new AbortController().signal,
      doing,
    } as const;
    await client.send(aborting, () => true).catch(() => undefined);
    throw error;
  }
}

async function complete(
  tags: readonly string[],
  size: number,
  options: UploadOptions,
  uploadId: string,
): Promise<void> {
  const { client, key, doing, signal } = options;
  const list = tags.map(
    (tag, index) => `<Part><PartNumber>${index + 1}</PartNumber><ETag>${encodeXml(tag)}</ETag></Part>`,
  );
  const body = Buffer.from(`<CompleteMultipartUpload>${list.join("")}</CompleteMultipartUpload>`);
  let repeated = false;
  const finish = async (free: boolean) =>
    await client.send(
      {
        method: "POST",
        key,
        query: { uploadId },
        headers: { "content-type": "application/xml", ...ifFree(options, free) },
        body,
        signal,
        doing,
        onRetry: () => (repeated = true),
      },
      (failure) => isTaken(failure) || failure.code === "NoSuchUpload" || (free && isUnconditional(failure)),
    );
  let answer = await finish(true);
  if (answer instanceof S3Failure && isUnconditional(answer)) answer = await finish(false);
  const found = answer instanceof S3Failure && !repeated ? undefined : await options.size();
  if (answer instanceof S3Failure && found !== size) throw storeError(doing, answer);
  if (found !== size)
    throw new StoreError(
      "failed",
      `cannot ${doing}: ${size} bytes were sent, and the store has ${found ?? "none"}`,
    );
}
