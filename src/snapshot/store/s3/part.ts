/**
 * The beginning of an upload in parts, one part of it, and the sum by which the store checks each. Over TLS, which
 * protects the bytes on their way, that is a CRC-32 beside an unsigned body, as AWS's own tools send it: a SHA-256 for
 * the signature costs more than all else. It stays where nothing else protects the bytes, and with stores that do not
 * say that they check a CRC-32.
 */
import { crc32 } from "node:zlib";
import type { HttpAnswer } from "../http/http.ts";
import type { ComparedUpload } from "../http/upload.ts";
import { textOf } from "../http/xml.ts";
import { StoreError } from "../store.ts";
import type { S3Client } from "./client.ts";
import { S3Failure } from "./errors.ts";

export type S3Upload = ComparedUpload<S3Client>;

export interface Upload {
  readonly id: string;
  /** The store checks a CRC-32 of each part. */
  readonly checksCrc: boolean;
  /** Bodies are left out of the signature. */
  unsigned: boolean;
}

/** What the last request says of each part. */
export interface SentPart {
  readonly etag: string;
  /** In base64. */
  readonly crc32: string | undefined;
}

const ALGORITHM = "CRC32";
/** Stores that refuse what they do not know. */
const refusesHeader = ({ status }: S3Failure) => status === 400 || status === 501;
/** A policy of the bucket may demand that bodies are signed. */
const refusesUnsigned = ({ status }: S3Failure) => status === 403;

export async function begin({ client, key, headers, doing, signal }: S3Upload): Promise<Upload> {
  const start = async (checked: boolean) =>
    await client.send(
      {
        method: "POST",
        key,
        query: { uploads: "" },
        headers: {
          "content-type": "application/octet-stream",
          ...headers,
          ...(checked && { "x-amz-checksum-algorithm": ALGORITHM }),
        },
        body: Buffer.alloc(0),
        signal,
        doing,
      },
      (failure) => checked && refusesHeader(failure),
    );
  let answer = await start(await client.isSecure());
  if (answer instanceof S3Failure) answer = await start(false);
  const { headers: said, body } = answer as HttpAnswer;
  const id = textOf(body.toString("utf8"), "UploadId");
  if (id === undefined)
    throw new StoreError("failed", `cannot ${doing}: the store began an upload without naming it`);
  const checksCrc = said["x-amz-checksum-algorithm"] === ALGORITHM;
  return { id, checksCrc, unsigned: checksCrc };
}

export async function sendPart(
  bytes: Uint8Array,
  number: number,
  upload: Upload,
  { client, key, doing, signal }: S3Upload,
): Promise<SentPart> {
  const sum = upload.checksCrc ? crcOf(bytes) : undefined;
  const send = async (unsigned: boolean) =>
    await client.send(
      {
        method: "PUT",
        key,
        query: { partNumber: String(number), uploadId: upload.id },
        headers: sum === undefined ? {} : { "x-amz-checksum-crc32": sum },
        body: bytes,
        unsigned,
        signal,
        doing,
      },
      (failure) => unsigned && refusesUnsigned(failure),
    );
  let answer = await send(upload.unsigned);
  if (answer instanceof S3Failure) {
    upload.unsigned = false;
    answer = await send(false);
  }
  return { etag: (answer as HttpAnswer).headers.etag ?? "", crc32: sum };
}

function crcOf(bytes: Uint8Array): string {
  const sum = Buffer.alloc(4);
  sum.writeUInt32BE(crc32(bytes));
  return sum.toString("base64");
}
