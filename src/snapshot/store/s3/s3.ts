/** A bucket of S3, or of a store that speaks its language, as a store. */
import { ETagStore } from "../http/by-etag.ts";
import type { Addressed } from "../http/object-store.ts";
import { textOf } from "../http/xml.ts";
import type { PutOptions, Store } from "../store.ts";
import { S3Client, type S3Options } from "./client.ts";
import type { S3Failure } from "./errors.ts";
import { upload } from "./upload.ts";

export interface S3StoreOptions extends S3Options {
  /** Before every name: empty, or with a slash at its end. */
  readonly prefix: string;
}

export function openS3Store(options: S3StoreOptions): Store {
  return new S3Store(options);
}

const LIST = {
  store: "S3",
  flag: "s3-endpoint",
  query: { "list-type": "2" },
  tokenParameter: "continuation-token",
  root: "ListBucketResult",
  object: "Contents",
  name: "Key",
  size: "Size",
  modified: "LastModified",
  next: (xml: string) =>
    textOf(xml, "IsTruncated") === "true" ? textOf(xml, "NextContinuationToken") : undefined,
} as const;

class S3Store extends ETagStore<S3Failure> {
  readonly #client: S3Client;
  readonly #encryption: Readonly<Record<string, string>>;

  constructor(options: S3StoreOptions) {
    const client = new S3Client(options);
    super(client, LIST, { place: `s3://${options.bucket}`, prefix: options.prefix });
    this.#client = client;
    const { sse, kmsKey } = options.s3;
    this.#encryption = {
      ...(sse !== undefined && { "x-amz-server-side-encryption": sse }),
      ...(kmsKey !== undefined && { "x-amz-server-side-encryption-aws-kms-key-id": kmsKey }),
    };
  }

  protected isMissing({ status, code }: S3Failure): boolean {
    return status === 404 && code !== "NoSuchBucket";
  }

  protected async upload(
    body: AsyncIterable<Uint8Array>,
    object: Addressed,
    options: PutOptions,
  ): Promise<void> {
    await upload(body, {
      ...this.compared(object, options),
      client: this.#client,
      headers: this.#encryption,
    });
  }
}
