/** Stores that tell the versions of an object by ETag and answer in XML, which S3 and Azure do. */
import type { PutOptions, StoredObject } from "../store.ts";
import type { ObjectRequest, StoreClient } from "./client.ts";
import { HttpFailure } from "./failure.ts";
import type { HttpAnswer } from "./http.ts";
import { ObjectStore, type Addressed, type Page, type ReadOptions } from "./object-store.ts";
import { resumed } from "./resume.ts";
import type { ComparedUpload } from "./upload.ts";
import { elementsOf, textOf } from "./xml.ts";

/** A list as the store gives it. */
interface ListForm {
  /** In messages. */
  readonly store: string;
  /** Of the endpoint. */
  readonly flag: string;
  readonly query: Readonly<Record<string, string>>;
  /** The name of the parameter that asks for the next page. */
  readonly tokenParameter: string;
  readonly root: string;
  readonly object: string;
  readonly name: string;
  readonly size: string;
  readonly modified: string;
  readonly next: (xml: string) => string | undefined;
}

export abstract class ETagStore<F extends HttpFailure> extends ObjectStore {
  readonly #client: StoreClient<ObjectRequest, F>;
  readonly #form: ListForm;

  constructor(
    client: StoreClient<ObjectRequest, F>,
    form: ListForm,
    { place, prefix }: { readonly place: string; readonly prefix: string },
  ) {
    super(place, prefix);
    this.#client = client;
    this.#form = form;
  }

  /** The bucket or container is there, and the object is not. */
  protected abstract isMissing(failure: F): boolean;

  /** Read as one version, wherever the reading breaks off. */
  get(name: string, { signal, range }: ReadOptions): AsyncGenerator<Uint8Array> {
    const { key, doing } = this.address("read", name);
    const client = this.#client;
    return resumed({
      doing,
      signal,
      range,
      open: async (headers, etag) =>
        await client.stream({
          method: "GET",
          key,
          headers: { ...headers, ...(etag !== undefined && { "if-match": etag }) },
          signal,
          doing,
        }),
      versionOf: ({ headers }) => headers.etag,
      wait: async (failures) => await client.retries.wait(failures, signal),
    });
  }

  async head(name: string, signal: AbortSignal): Promise<StoredObject | undefined> {
    const { key, doing } = this.address("look at", name);
    const answer = await this.#client.send({ method: "HEAD", key, signal, doing }, (failure) =>
      this.isMissing(failure),
    );
    if (answer instanceof HttpFailure) return undefined;
    const modifiedAt = new Date(answer.headers["last-modified"] ?? 0);
    return { name, size: Number(answer.headers["content-length"] ?? 0), modifiedAt };
  }

  async delete(name: string, signal: AbortSignal): Promise<void> {
    const { key, doing } = this.address("delete", name);
    await this.#client.send({ method: "DELETE", key, signal, doing }, (failure) => this.isMissing(failure));
  }

  /** What an upload compares with, should an answer be lost. */
  protected compared({ name, key, doing }: Addressed, options: PutOptions) {
    return {
      ...options,
      key,
      doing,
      size: async () => (await this.head(name, options.signal))?.size,
      matches: async (bytes) => await isSame(this.get(name, options), bytes),
    } satisfies Partial<ComparedUpload<unknown>>;
  }

  protected async page(prefix: string, token: string | undefined, signal: AbortSignal): Promise<Page> {
    const form = this.#form;
    const query = { ...form.query, prefix, ...(token !== undefined && { [form.tokenParameter]: token }) };
    const request = { method: "GET", key: "", query, signal, doing: `list ${this.uri}` } as const;
    const xml = ((await this.#client.send(request)) as HttpAnswer).body.toString("utf8");
    if (!xml.includes(`<${form.root}`)) throw this.foreign(form.store, form.flag);
    const objects = elementsOf(xml, form.object).map((object) => ({
      name: textOf(object, form.name) ?? "",
      size: Number(textOf(object, form.size) ?? 0),
      modifiedAt: new Date(textOf(object, form.modified) ?? 0),
    }));
    return { objects, next: form.next(xml) };
  }
}

/** Whether what is read are these bytes. */
async function isSame(read: AsyncIterable<Uint8Array>, bytes: Uint8Array): Promise<boolean> {
  const parts: Uint8Array[] = [];
  for await (const part of read) parts.push(part);
  return Buffer.concat(parts).equals(bytes);
}
