/**
 * Writes one object: small ones in a single request, larger ones in parts, a few of them on their way at a time and
 * none kept longer. Every request carries the SHA-256 of its body, which the store checks. Nothing appears before the
 * last request, which is conditional on the name being free.
 */
import type { HttpAnswer } from "../http/http.ts";
import type { Parts } from "../http/parts.ts";
import { sendParts } from "../http/send-parts.ts";
import { ifFree, requireSize, requireWhole, uploadBy, type ComparedUpload } from "../http/upload.ts";
import { encodeXml, textOf } from "../http/xml.ts";
import { StoreError } from "../store.ts";
import type { S3Client } from "./client.ts";
import { S3Failure, storeError } from "./errors.ts";

const MOST_PARTS = 10_000;

type S3Upload = ComparedUpload<S3Client>;

export async function upload(body: AsyncIterable<Uint8Array>, options: S3Upload): Promise<void> {
  await uploadBy(body, {
    whole: async (bytes) => await putWhole(bytes, options),
    inParts: async (first, parts) => await putParts(first, parts, options),
  });
}

const isTaken = ({ status, code }: S3Failure) => status === 412 || code === "PreconditionFailed";
/** A store without conditional writes: the name was looked at before, which must do. */
const isUnconditional = ({ status, code }: S3Failure) => status === 501 || code === "NotImplemented";

/** The request that makes the object appear, and how it ended. */
async function lastRequest(
  request: {
    readonly method: "PUT" | "POST";
    readonly query?: Readonly<Record<string, string>>;
    readonly headers: Readonly<Record<string, string>>;
    readonly body: Uint8Array;
  },
  accept: (failure: S3Failure) => boolean,
  options: S3Upload,
) {
  const { client, key, doing, signal } = options;
  let repeated = false;
  const send = async (condition: Readonly<Record<string, string>>) =>
    await client.send(
      {
        ...request,
        key,
        headers: { ...request.headers, ...condition },
        signal,
        doing,
        onRetry: () => (repeated = true),
      },
      (failure) => accept(failure) || isUnconditional(failure),
    );
  let answer = await send(ifFree(options));
  if (options.ifAbsent && answer instanceof S3Failure && isUnconditional(answer)) answer = await send({});
  return { failure: answer instanceof S3Failure ? answer : undefined, repeated, explain: storeError };
}

async function putWhole(bytes: Uint8Array, options: S3Upload): Promise<void> {
  const request = { method: "PUT", headers: options.headers, body: bytes } as const;
  await requireWhole(bytes, options, await lastRequest(request, isTaken, options));
}

async function putParts(first: Buffer, parts: Parts, options: S3Upload): Promise<void> {
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
  options: S3Upload,
  uploadId: string,
): Promise<void> {
  const list = tags.map(
    (tag, index) => `<Part><PartNumber>${index + 1}</PartNumber><ETag>${encodeXml(tag)}</ETag></Part>`,
  );
  const request = {
    method: "POST",
    query: { uploadId },
    headers: { "content-type": "application/xml" },
    body: Buffer.from(`<CompleteMultipartUpload>${list.join("")}</CompleteMultipartUpload>`),
  } as const;
  const isEnd = (failure: S3Failure) => isTaken(failure) || failure.code === "NoSuchUpload";
  await requireSize(size, options, await lastRequest(request, isEnd, options));
}
