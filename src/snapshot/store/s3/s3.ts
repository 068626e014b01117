/** A bucket of S3, or of a store that speaks its language, as a store. */
import {
  requireName,
  StoreError,
  type PutOptions,
  type Range,
  type Store,
  type StoredObject,
} from "../store.ts";
import { S3Client, type S3Options } from "./client.ts";
import { S3Failure, storeError } from "./errors.ts";
import type { HttpAnswer } from "../http/http.ts";
import { isSame, readByETag } from "../http/by-etag.ts";
import { upload } from "./upload.ts";
import { elementsOf, textOf } from "../http/xml.ts";

export interface S3StoreOptions extends S3Options {
  /** Before every name: empty, or with a slash at its end. */
  readonly prefix: string;
}

export function openS3Store(options: S3StoreOptions): Store {
  return new S3Store(options);
}

class S3Store implements Store {
  readonly uri: string;
  readonly #client: S3Client;
  readonly #prefix: string;
  readonly #encryption: Readonly<Record<string, string>>;

  constructor(options: S3StoreOptions) {
    this.uri = `s3://${options.bucket}/${options.prefix}`;
    this.#prefix = options.prefix;
    this.#client = new S3Client(options);
    const { sse, kmsKey } = options.s3;
    this.#encryption = {
      ...(sse !== undefined && { "x-amz-server-side-encryption": sse }),
      ...(kmsKey !== undefined && { "x-amz-server-side-encryption-aws-kms-key-id": kmsKey }),
    };
  }

  async put(name: string, body: AsyncIterable<Uint8Array>, options: PutOptions): Promise<void> {
    const key = this.#key(name);
    const doing = `write ${this.uri}${name}`;
    // A store without conditional writes would overwrite it; and there is no need to send it all first.
    if (options.ifAbsent && (await this.head(name, options.signal)) !== undefined)
      throw new StoreError(
        "exists",
        `cannot ${doing}: it exists already and is not overwritten; use another name`,
      );
    await upload(body, {
      ...options,
      client: this.#client,
      key,
      doing,
      headers: this.#encryption,
      size: async () => (await this.head(name, options.signal))?.size,
      matches: async (bytes) => await isSame(this.get(name, options), bytes),
    });
  }

  get(
    name: string,
    { signal, range }: { readonly signal: AbortSignal; readonly range?: Range },
  ): AsyncGenerator<Uint8Array> {
    const doing = `read ${this.uri}${name}`;
    return readByETag(this.#client, { key: this.#key(name), doing, signal, range });
  }

  async head(name: string, signal: AbortSignal): Promise<StoredObject | undefined> {
    const request = {
      method: "HEAD",
      key: this.#key(name),
      signal,
      doing: `look at ${this.uri}${name}`,
    } as const;
    const answer = await this.#client.send(request, ({ status }) => status === 404);
    if (answer instanceof S3Failure) return undefined;
    const modifiedAt = new Date(answer.headers["last-modified"] ?? 0);
    return { name, size: Number(answer.headers["content-length"] ?? 0), modifiedAt };
  }

  async *list(prefix: string, signal: AbortSignal): AsyncGenerator<StoredObject> {
    let token: string | undefined;
    do {
      const query = {
        "list-type": "2",
        prefix: `${this.#prefix}${prefix}`,
        ...(token !== undefined && { "continuation-token": token }),
      };
      const request = { method: "GET", key: "", query, signal, doing: `list ${this.uri}` } as const;
      const xml = ((await this.#client.send(request)) as HttpAnswer).body.toString("utf8");
      if (!xml.includes("<ListBucketResult"))
        throw new StoreError(
          "failed",
          `cannot list ${this.uri}: the endpoint does not answer as S3 does; check --s3-endpoint`,
        );
      for (const content of elementsOf(xml, "Contents")) {
        const key = textOf(content, "Key") ?? "";
        // Folders that consoles make are empty objects with a slash at their end.
        if (!key.startsWith(this.#prefix) || key.endsWith("/")) continue;
        yield {
          name: key.slice(this.#prefix.length),
          size: Number(textOf(content, "Size") ?? 0),
          modifiedAt: new Date(textOf(content, "LastModified") ?? 0),
        };
      }
      token = textOf(xml, "IsTruncated") === "true" ? textOf(xml, "NextContinuationToken") : undefined;
    } while (token !== undefined);
  }

  async delete(name: string, signal: AbortSignal): Promise<void> {
    const request = {
      method: "DELETE",
      key: this.#key(name),
      signal,
      doing: `delete ${this.uri}${name}`,
    } as const;
    const answer = await this.#client.send(
      request,
      ({ status, code }) => status === 404 && code !== "NoSuchBucket",
    );
    if (answer instanceof S3Failure && answer.status !== 404) throw storeError(request.doing, answer);
  }

  #key(name: string): string {
    return `${this.#prefix}${requireName(name)}`;
  }
}
