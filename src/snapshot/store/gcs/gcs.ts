/** A bucket of Google Cloud Storage as a store. */
import type { HttpAnswer } from "../http/http.ts";
import { ObjectStore, type Addressed, type Page, type ReadOptions } from "../http/object-store.ts";
import { resumed } from "../http/resume.ts";
import { parseObject } from "../http/token.ts";
import type { PutOptions, Store, StoredObject } from "../store.ts";
import { GcsClient, type GcsOptions } from "./client.ts";
import { GcsFailure } from "./errors.ts";
import { upload } from "./upload.ts";

export interface GcsStoreOptions extends GcsOptions {
  /** Before every name: empty, or with a slash at its end. */
  readonly prefix: string;
}

export function openGcsStore(options: GcsStoreOptions): Store {
  return new GcsStore(options);
}

interface Resource {
  readonly name?: string;
  readonly size?: string;
  readonly updated?: string;
  readonly md5Hash?: string;
}

class GcsStore extends ObjectStore {
  readonly #client: GcsClient;
  readonly #kmsKey: string | undefined;

  constructor(options: GcsStoreOptions) {
    super(`gs://${options.bucket}`, options.prefix);
    this.#client = new GcsClient(options);
    this.#kmsKey = options.gcs.kmsKey;
  }

  protected async upload(
    body: AsyncIterable<Uint8Array>,
    { name, key, doing }: Addressed,
    options: PutOptions,
  ): Promise<void> {
    await upload(body, {
      ...options,
      client: this.#client,
      key,
      doing,
      kmsKey: this.#kmsKey,
      md5: async () => (await this.#resource(name, options.signal))?.md5Hash,
    });
  }

  get(name: string, { signal, range }: ReadOptions): AsyncGenerator<Uint8Array> {
    const { key, doing } = this.address("read", name);
    return resumed({
      doing,
      signal,
      range,
      open: async (headers, generation) =>
        await this.#client.stream({
          method: "GET",
          path: this.#client.objectPath(key, {
            alt: "media",
            ...(generation !== undefined && { ifGenerationMatch: generation }),
          }),
          headers,
          signal,
          doing,
        }),
      versionOf: ({ headers }) => {
        const generation = headers["x-goog-generation"];
        return typeof generation === "string" ? generation : undefined;
      },
      wait: async (failures) => await this.#client.retries.wait(failures, signal),
    });
  }

  async head(name: string, signal: AbortSignal): Promise<StoredObject | undefined> {
    const found = await this.#resource(name, signal);
    return found && { name, size: Number(found.size ?? 0), modifiedAt: new Date(found.updated ?? 0) };
  }

  protected async page(prefix: string, token: string | undefined, signal: AbortSignal): Promise<Page> {
    const path = this.#client.bucketPath({ prefix, ...(token !== undefined && { pageToken: token }) });
    const request = { method: "GET", path, signal, doing: `list ${this.uri}`, aboutBucket: true } as const;
    const body = parseObject(((await this.#client.send(request)) as HttpAnswer).body.toString("utf8"));
    if (body["kind"] !== "storage#objects") throw this.foreign("Google Cloud Storage", "gcs-endpoint");
    const objects = ((body["items"] ?? []) as readonly Resource[]).map(({ name = "", size, updated }) => ({
      name,
      size: Number(size ?? 0),
      modifiedAt: new Date(updated ?? 0),
    }));
    const next = body["nextPageToken"];
    return { objects, next: typeof next === "string" ? next : undefined };
  }

  async delete(name: string, signal: AbortSignal): Promise<void> {
    const { key, doing } = this.address("delete", name);
    const request = { method: "DELETE", path: this.#client.objectPath(key), signal, doing } as const;
    await this.#client.send(request, isMissing);
  }

  async #resource(name: string, signal: AbortSignal): Promise<Resource | undefined> {
    const { key, doing } = this.address("look at", name);
    const request = { method: "GET", path: this.#client.objectPath(key), signal, doing } as const;
    const answer = await this.#client.send(request, isMissing);
    return answer instanceof GcsFailure ? undefined : (parseObject(answer.body.toString("utf8")) as Resource);
  }
}

/** The bucket is there, and the object is not. */
function isMissing({ status, aboutBucket }: GcsFailure): boolean {
  return status === 404 && !aboutBucket;
}
