/** Requests to one bucket through the JSON API of Google Cloud Storage, repeated where that helps. */
import { StoreClient, withQuery, type Opened, type StoreSurroundings } from "../http/client.ts";
import { encodePart, encodeQuery } from "../http/encode.ts";
import { isSuccess } from "../http/failure.ts";
import { HttpClient } from "../http/http.ts";
import { Renewed } from "../http/renewed.ts";
import type { Attempted } from "../http/retry.ts";
import { readCa } from "../http/token.ts";
import { StoreError } from "../store.ts";
import { findToken } from "./credentials.ts";
import { GcsFailure, storeError } from "./errors.ts";

export interface GcsSettings {
  readonly endpoint?: string | undefined;
  readonly caFile?: string | undefined;
  /** Encryption by the store with this key of Cloud KMS. */
  readonly kmsKey?: string | undefined;
}

export interface GcsOptions extends StoreSurroundings {
  readonly bucket: string;
  readonly gcs: GcsSettings;
}

export interface GcsRequest extends Attempted {
  readonly method: "GET" | "PUT" | "POST" | "DELETE";
  /** After the origin, with the query; see `objectPath` and the others. */
  readonly path: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: Uint8Array;
  /** What is missing when the answer is 404. */
  readonly aboutBucket?: boolean;
}

/** Also while an upload goes on: 308 asks for more. */
const isAnswer = (status: number) => isSuccess(status) || status === 308;

export class GcsClient extends StoreClient<GcsRequest, GcsFailure> {
  readonly #bucket: string;

  constructor(options: GcsOptions) {
    super({
      ...options,
      explain: storeError,
      failure: ({ status, text }, { aboutBucket = false }) => new GcsFailure(status, text, aboutBucket),
      isAnswer,
      open: async () => await opened(options),
    });
    this.#bucket = options.bucket;
  }

  bucketPath(query: Readonly<Record<string, string>>): string {
    return `/storage/v1/b/${encodePart(this.#bucket)}/o?${encodeQuery(query)}`;
  }

  objectPath(key: string, query: Readonly<Record<string, string>> = {}): string {
    const path = `/storage/v1/b/${encodePart(this.#bucket)}/o/${encodePart(key)}`;
    return withQuery(path, encodeQuery(query));
  }

  uploadPath(query: Readonly<Record<string, string>>): string {
    return `/upload${this.bucketPath(query)}`;
  }
}

async function opened({ gcs, env, clock }: GcsOptions): Promise<Opened<GcsRequest>> {
  const emulator = env["STORAGE_EMULATOR_HOST"];
  const named = emulator && (emulator.includes("://") ? emulator : `http://${emulator}`);
  const given = gcs.endpoint ?? (named || "https://storage.googleapis.com");
  if (!URL.canParse(given) || !/^https?:$/.test(new URL(given).protocol))
    throw new StoreError(
      "invalid",
      `the endpoint ${given} is not a URL: use https://host or http://host:port`,
    );
  const ca = await readCa(gcs.caFile);
  const context = { env, clock, http: HttpClient.forTokens(ca) };
  // An emulator asks for none.
  const token = emulator ? undefined : new Renewed(clock, async (signal) => await findToken(context, signal));
  const { origin } = new URL(given);
  return {
    http: new HttpClient(ca),
    prepare: async ({ method, path, headers, body, signal }) => {
      const authorization = token && `Bearer ${(await token.get(signal)).token}`;
      return {
        method,
        origin,
        path,
        headers: { ...headers, ...(authorization !== undefined && { authorization }) },
        body,
        signal,
      };
    },
  };
}
