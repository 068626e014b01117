/**
 * Writes one object: small ones in a single request, larger ones in parts, a few of them on their way at a time and
 * none kept longer. Every request carries a sum of its body, which the store checks. Nothing appears before the last
 * request, which is conditional on the name being free. One request for all of it would spare the store to join the
 * parts, but after a cut it would begin again at the first byte, which nobody has any more.
 */
import type { Parts } from "../http/parts.ts";
import { sendParts } from "../http/send-parts.ts";
import { ifFree, requireSize, requireWhole, uploadBy } from "../http/upload.ts";
import { encodeXml } from "../http/xml.ts";
import { S3Failure, storeError } from "./errors.ts";
import { begin, sendPart, type S3Upload, type SentPart, type Upload } from "./part.ts";

const MOST_PARTS = 10_000;

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
  const { client, key, doing } = options;
  const upload = await begin(options);
  try {
    const sent: SentPart[] = [];
    const { size } = await sendParts(first, parts, { most: MOST_PARTS, doing }, async (bytes, number) => {
      sent[number - 1] = await sendPart(bytes, number, upload, options);
    });
    await complete(sent, size, options, upload);
  } catch (error) {
    // Parts that nobody completes cost money; a rule of the bucket's life cycle should end those that are left.
    const aborting = {
      method: "DELETE",
      key,
      query: { uploadId: upload.id },
      signal: new AbortController().signal,
      doing,
    } as const;
    await client.send(aborting, () => true).catch(() => undefined);
    throw error;
  }
}

async function complete(
  parts: readonly SentPart[],
  size: number,
  options: S3Upload,
  { id }: Upload,
): Promise<void> {
  const list = parts.map(
    ({ etag, crc32 }, index) =>
      `<Part><PartNumber>${index + 1}</PartNumber><ETag>${encodeXml(etag)}</ETag>${crc32 === undefined ? "" : `<ChecksumCRC32>${crc32}</ChecksumCRC32>`}</Part>`,
  );
  const request = {
    method: "POST",
    query: { uploadId: id },
    headers: { "content-type": "application/xml" },
    body: Buffer.from(`<CompleteMultipartUpload>${list.join("")}</CompleteMultipartUpload>`),
  } as const;
  const isEnd = (failure: S3Failure) => isTaken(failure) || failure.code === "NoSuchUpload";
  await requireSize(size, options, await lastRequest(request, isEnd, options));
}
