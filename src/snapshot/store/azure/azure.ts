/** A container of Azure Blob Storage as a store. */
import { hex } from "../../../seams/random.ts";
import type { HttpAnswer } from "../http/http.ts";
import { isSame, readByETag } from "../http/by-etag.ts";
import { elementsOf, textOf } from "../http/xml.ts";
import {
  requireName,
  StoreError,
  type PutOptions,
  type Range,
  type Store,
  type StoredObject,
} from "../store.ts";
import { AzureClient, type AzureOptions } from "./client.ts";
import { AzureFailure } from "./errors.ts";
import { upload } from "./upload.ts";

export interface AzureStoreOptions extends AzureOptions {
  /** Before every name: empty, or with a slash at its end. */
  readonly prefix: string;
}

export function openAzureStore(options: AzureStoreOptions): Store {
  return new AzureStore(options);
}

class AzureStore implements Store {
  readonly uri: string;
  readonly #client: AzureClient;
  readonly #options: AzureStoreOptions;

  constructor(options: AzureStoreOptions) {
    this.uri = `azblob://${options.container}/${options.prefix}`;
    this.#client = new AzureClient(options);
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
    const scope = this.#options.azure.encryptionScope;
    await upload(body, {
      ...options,
      client: this.#client,
      key: this.#key(name),
      doing,
      headers: scope === undefined ? {} : { "x-ms-encryption-scope": scope },
      upload: hex(this.#options.random, 8),
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
    const answer = await this.#client.send(
      request,
      ({ status, code }) => status === 404 && code !== "ContainerNotFound",
    );
    if (answer instanceof AzureFailure) return undefined;
    const modifiedAt = new Date(answer.headers["last-modified"] ?? 0);
    return { name, size: Number(answer.headers["content-length"] ?? 0), modifiedAt };
  }

  async *list(prefix: string, signal: AbortSignal): AsyncGenerator<StoredObject> {
    const before = this.#options.prefix;
    let marker: string | undefined;
    do {
      const query = {
        restype: "container",
        comp: "list",
        prefix: `${before}${prefix}`,
        ...(marker !== undefined && { marker }),
      };
      const request = { method: "GET", key: "", query, signal, doing: `list ${this.uri}` } as const;
      const xml = ((await this.#client.send(request)) as HttpAnswer).body.toString("utf8");
      if (!xml.includes("<EnumerationResults"))
        throw new StoreError(
          "failed",
          `cannot list ${this.uri}: the endpoint does not answer as Azure does; check --azure-endpoint`,
        );
      for (const blob of elementsOf(xml, "Blob")) {
        const key = textOf(blob, "Name") ?? "";
        if (!key.startsWith(before) || key.endsWith("/")) continue;
        yield {
          name: key.slice(before.length),
          size: Number(textOf(blob, "Content-Length") ?? 0),
          modifiedAt: new Date(textOf(blob, "Last-Modified") ?? 0),
        };
      }
      marker = textOf(xml, "NextMarker") || undefined;
    } while (marker !== undefined);
  }

  async delete(name: string, signal: AbortSignal): Promise<void> {
    const request = {
      method: "DELETE",
      key: this.#key(name),
      signal,
      doing: `delete ${this.uri}${name}`,
    } as const;
    await this.#client.send(request, ({ status, code }) => status === 404 && code !== "ContainerNotFound");
  }

  #key(name: string): string {
    return `${this.#options.prefix}${requireName(name)}`;
  }
}
