/** Requests to one bucket through the JSON API of Google Cloud Storage, repeated where that helps. */
import type { Clock } from "../../../seams/clock.ts";
import type { Random } from "../../../seams/random.ts";
import { encodePart, encodeQuery } from "../http/encode.ts";
import { isSuccess } from "../http/failure.ts";
import { HttpClient, type HttpAnswer, type HttpRequest, type HttpStream } from "../http/http.ts";
import { Renewed } from "../http/renewed.ts";
import { Retries, type Attempted } from "../http/retry.ts";
import { readCa, type AccessToken } from "../http/token.ts";
import { StoreError } from "../store.ts";
import { findToken } from "./credentials.ts";
import { GcsFailure, storeError } from "./errors.ts";

export interface GcsSettings {
  readonly endpoint?: string | undefined;
  readonly caFile?: string | undefined;
  /** Encryption by the store with this key of Cloud KMS. */
  readonly kmsKey?: string | undefined;
}

export interface GcsOptions {
  readonly bucket: string;
  readonly gcs: GcsSettings;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly clock: Clock;
  readonly random: Random;
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

interface Opened {
  readonly origin: string;
  readonly http: HttpClient;
  /** Undefined for an emulator, which asks for none. */
  readonly token: Renewed<AccessToken> | undefined;
}

/** Also while an upload goes on: 308 asks for more. */
const isAnswer = (status: number) => isSuccess(status) || status === 308;

export class GcsClient {
  readonly retries: Retries<GcsFailure>;
  readonly #options: GcsOptions;
  #opening: Promise<Opened> | undefined;

  constructor(options: GcsOptions) {
    this.#options = options;
    this.retries = new Retries({ ...options, explain: storeError });
  }

  bucketPath(query: Readonly<Record<string, string>>): string {
    return `/storage/v1/b/${encodePart(this.#options.bucket)}/o?${encodeQuery(query)}`;
  }

  objectPath(key: string, query: Readonly<Record<string, string>> = {}): string {
    const text = encodeQuery(query);
    const path = `/storage/v1/b/${encodePart(this.#options.bucket)}/o/${encodePart(key)}`;
    return text === "" ? path : `${path}?${text}`;
  }

  uploadPath(query: Readonly<Record<string, string>>): string {
    return `/upload${this.bucketPath(query)}`;
  }

  /** One try, for uploads, which take up where they were. */
  async once(request: GcsRequest): Promise<HttpAnswer> {
    const opened = await this.#open();
    const answer = await opened.http.whole(await prepared(opened, request));
    if (isAnswer(answer.status)) return answer;
    throw new GcsFailure(answer.status, answer.body.toString("utf8"), request.aboutBucket === true);
  }

  async send(
    request: GcsRequest,
    accept: (failure: GcsFailure) => boolean = () => false,
  ): Promise<HttpAnswer | GcsFailure> {
    return await this.retries.run(request, accept, async () => await this.once(request));
  }

  /** The beginning of an answer whose body is read as it comes. */
  async stream(request: GcsRequest): Promise<HttpStream> {
    const answer = await this.retries.run(
      request,
      () => false,
      async () => {
        const opened = await this.#open();
        const begun = await opened.http.stream(await prepared(opened, request));
        if (isSuccess(begun.status)) return begun;
        begun.body.destroy();
        throw new GcsFailure(begun.status, "", false);
      },
    );
    return answer as HttpStream;
  }

  #open(): Promise<Opened> {
    return (this.#opening ??= this.#resolve());
  }

  async #resolve(): Promise<Opened> {
    const { gcs, env, clock } = this.#options;
    const emulator = env["STORAGE_EMULATOR_HOST"];
    const given =
      gcs.endpoint ??
      (emulator
        ? emulator.includes("://")
          ? emulator
          : `http://${emulator}`
        : "https://storage.googleapis.com");
    if (!URL.canParse(given) || !/^https?:$/.test(new URL(given).protocol))
      throw new StoreError(
        "invalid",
        `the endpoint ${given} is not a URL: use https://host or http://host:port`,
      );
    const ca = await readCa(gcs.caFile);
    const context = { env, clock, http: HttpClient.forTokens(ca) };
    const token = emulator
      ? undefined
      : new Renewed(clock, async (signal) => await findToken(context, signal));
    return { origin: new URL(given).origin, http: new HttpClient(ca), token };
  }
}

async function prepared({ origin, token }: Opened, request: GcsRequest): Promise<HttpRequest> {
  return {
    method: request.method,
    origin,
    path: request.path,
    headers: {
      ...request.headers,
      ...(token !== undefined && { authorization: `Bearer ${(await token.get(request.signal)).token}` }),
    },
    body: request.body,
    signal: request.signal,
  };
}
