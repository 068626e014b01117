/** A bucket of Google Cloud Storage as a store. */
import type { HttpAnswer } from "../http/http.ts";
import { resumed } from "../http/resume.ts";
import { parseObject } from "../http/token.ts";
import {
  requireName,
  StoreError,
  type PutOptions,
  type Range,
  type Store,
  type StoredObject,
} from "../store.ts";
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

class GcsStore implements Store {
  readonly uri: string;
  readonly #client: GcsClient;
  readonly #options: GcsStoreOptions;

  constructor(options: GcsStoreOptions) {
    this.uri = `gs://${options.bucket}/${options.prefix}`;
    this.#client = new GcsClient(options);
    this.#options = options;
  }

  async put(name: string, body: AsyncIterable<Uint8Array>, options: PutOptions): Promise<void> {
    const doing = `write ${this.uri}${name}`;
    // There is no need to send it all first.
    if (options.ifAbsent && (await this.head(name, options.signal)) !== undefined)
      throw new StoreError(
        "exists",
        `cannot ${doing}: it exists already and is not overwritten; use another name`,
      );
    await upload(body, {
      ...options,
      client: this.#client,
      key: this.#key(name),
      doing,
      kmsKey: this.#options.gcs.kmsKey,
      md5: async () => (await this.#resource(name, options.signal))?.md5Hash,
    });
  }

  get(
    name: string,
    { signal, range }: { readonly signal: AbortSignal; readonly range?: Range },
  ): AsyncGenerator<Uint8Array> {
    const key = this.#key(name);
    const doing = `read ${this.uri}${name}`;
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

  async *list(prefix: string, signal: AbortSignal): AsyncGenerator<StoredObject> {
    const before = this.#options.prefix;
    let token: string | undefined;
    do {
      const query = { prefix: `${before}${prefix}`, ...(token !== undefined && { pageToken: token }) };
      const path = this.#client.bucketPath(query);
      const request = { method: "GET", path, signal, doing: `list ${this.uri}`, aboutBucket: true } as const;
      const body = parseObject(((await this.#client.send(request)) as HttpAnswer).body.toString("utf8"));
      if (body["kind"] !== "storage#objects")
        throw new StoreError(
          "failed",
          `cannot list ${this.uri}: the endpoint does not answer as Google Cloud Storage does; check --gcs-endpoint`,
        );
      for (const { name = "", size, updated } of (body["items"] ?? []) as readonly Resource[]) {
        if (!name.startsWith(before) || name.endsWith("/")) continue;
        yield {
          name: name.slice(before.length),
          size: Number(size ?? 0),
          modifiedAt: new Date(updated ?? 0),
        };
      }
      token = typeof body["nextPageToken"] === "string" ? body["nextPageToken"] : undefined;
    } while (token !== undefined && token !== "");
  }

  async delete(name: string, signal: AbortSignal): Promise<void> {
    const path = this.#client.objectPath(this.#key(name));
    const request = { method: "DELETE", path, signal, doing: `delete ${this.uri}${name}` } as const;
    await this.#client.send(request, ({ status, aboutBucket }) => status === 404 && !aboutBucket);
  }

  async #resource(name: string, signal: AbortSignal): Promise<Resource | undefined> {
    const path = this.#client.objectPath(this.#key(name));
    const request = { method: "GET", path, signal, doing: `look at ${this.uri}${name}` } as const;
    const answer = await this.#client.send(
      request,
      ({ status, aboutBucket }) => status === 404 && !aboutBucket,
    );
    return answer instanceof GcsFailure ? undefined : (parseObject(answer.body.toString("utf8")) as Resource);
  }

  #key(name: string): string {
    return `${this.#options.prefix}${requireName(name)}`;
  }
}
