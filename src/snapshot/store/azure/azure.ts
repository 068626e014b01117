/** A container of Azure Blob Storage as a store. */
import { hex } from "../../../seams/random.ts";
import { ETagStore } from "../http/by-etag.ts";
import type { Addressed } from "../http/object-store.ts";
import { textOf } from "../http/xml.ts";
import type { PutOptions, Store } from "../store.ts";
import { AzureClient, type AzureOptions } from "./client.ts";
import type { AzureFailure } from "./errors.ts";
import { upload } from "./upload.ts";

export interface AzureStoreOptions extends AzureOptions {
  /** Before every name: empty, or with a slash at its end. */
  readonly prefix: string;
}

export function openAzureStore(options: AzureStoreOptions): Store {
  return new AzureStore(options);
}

const LIST = {
  store: "Azure",
  flag: "azure-endpoint",
  query: { restype: "container", comp: "list" },
  tokenParameter: "marker",
  root: "EnumerationResults",
  object: "Blob",
  name: "Name",
  size: "Content-Length",
  modified: "Last-Modified",
  next: (xml: string) => textOf(xml, "NextMarker"),
} as const;

class AzureStore extends ETagStore<AzureFailure> {
  readonly #client: AzureClient;
  readonly #options: AzureStoreOptions;

  constructor(options: AzureStoreOptions) {
    const client = new AzureClient(options);
    super(client, LIST, { place: `azblob://${options.container}`, prefix: options.prefix });
    this.#client = client;
    this.#options = options;
  }

  protected isMissing({ status, code }: AzureFailure): boolean {
    return status === 404 && code !== "ContainerNotFound";
  }

  protected async upload(
    body: AsyncIterable<Uint8Array>,
    object: Addressed,
    options: PutOptions,
  ): Promise<void> {
    const { azure, random } = this.#options;
    const scope = azure.encryptionScope;
    await upload(body, {
      ...this.compared(object, options),
      client: this.#client,
      headers: scope === undefined ? {} : { "x-ms-encryption-scope": scope },
      upload: hex(random, 8),
    });
  }
}
