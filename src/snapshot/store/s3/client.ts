/** Signed requests to one bucket, repeated with growing waits while the store or the network fails for a moment. */
import type { Clock } from "../../../seams/clock.ts";
import type { Random } from "../../../seams/random.ts";
import { CredentialChain } from "./credentials.ts";
import { S3Failure, storeError } from "./errors.ts";
import { isSuccess } from "../http/failure.ts";
import { HttpClient, type HttpAnswer, type HttpStream } from "../http/http.ts";
import { Retries, type Attempted } from "../http/retry.ts";
import { readProfile, resolvePlace, type Env, type S3Place, type S3Settings } from "./settings.ts";
import { encodePath, encodeQuery } from "../http/encode.ts";
import { EMPTY_HASH, sha256, signed } from "./sign.ts";

export interface S3Options {
  readonly bucket: string;
  readonly s3: S3Settings;
  readonly env: Env;
  readonly clock: Clock;
  readonly random: Random;
}

export interface S3Request extends Attempted {
  readonly method: "GET" | "HEAD" | "PUT" | "POST" | "DELETE";
  readonly key: string;
  readonly query?: Readonly<Record<string, string>>;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: Uint8Array;
}

interface Opened {
  readonly place: S3Place;
  readonly http: HttpClient;
  readonly credentials: CredentialChain;
}

export class S3Client {
  readonly #options: S3Options;
  readonly retries: Retries<S3Failure>;
  #opening: Promise<Opened> | undefined;

  constructor(options: S3Options) {
    this.#options = options;
    this.retries = new Retries({ ...options, explain: storeError });
  }

  /** A success, or a `StoreError` after the last try; `S3Failure`s that `accept` names are returned to the caller. */
  async send(
    request: S3Request,
    accept: (failure: S3Failure) => boolean = () => false,
  ): Promise<HttpAnswer | S3Failure> {
    return await this.retries.run(request, accept, async () => {
      const opened = await this.#open();
      const answer = await opened.http.whole(await this.#prepared(opened, request));
      const text = isSuccess(answer.status) ? "" : answer.body.toString("utf8");
      // Completing an upload answers 200 at once and may fail later, in the body.
      const late =
        request.method === "POST" && answer.body.includes("<Error>") ? answer.body.toString("utf8") : "";
      if (text !== "" || late !== "" || !isSuccess(answer.status))
        throw new S3Failure(late === "" ? answer.status : 500, answer.headers, late === "" ? text : late);
      return answer;
    });
  }

  /** The beginning of an answer whose body is read as it comes. */
  async stream(request: S3Request): Promise<HttpStream> {
    const answer = await this.retries.run(
      request,
      () => false,
      async () => {
        const opened = await this.#open();
        const begun = await opened.http.stream(await this.#prepared(opened, request));
        if (isSuccess(begun.status)) return begun;
        let text = "";
        for await (const part of begun.body as AsyncIterable<Buffer>)
          if (text.length < 65_536) text += part.toString("utf8");
        throw new S3Failure(begun.status, begun.headers, text);
      },
    );
    return answer as HttpStream;
  }

  async #prepared(opened: Opened, request: S3Request) {
    const { origin, base, region } = opened.place;
    const query = request.query ?? {};
    const path = `${base}${encodePath(request.key)}`;
    const headers = signed(
      {
        method: request.method,
        host: new URL(origin).host,
        path,
        query,
        headers: request.headers ?? {},
        payloadHash: request.body === undefined ? EMPTY_HASH : sha256(request.body),
      },
      await opened.credentials.get(request.signal),
      { region, service: "s3", now: new Date(this.#options.clock.now()) },
    );
    const text = encodeQuery(query);
    return {
      method: request.method,
      origin,
      path: text === "" ? path : `${path}?${text}`,
      headers,
      body: request.body,
      signal: request.signal,
    };
  }

  #open(): Promise<Opened> {
    return (this.#opening ??= this.#resolve());
  }

  async #resolve(): Promise<Opened> {
    const { bucket, s3, env, clock } = this.#options;
    const profile = await readProfile(s3.profile, env);
    const place = await resolvePlace(bucket, s3, profile, env);
    const http = new HttpClient(place.ca);
    const explicitProfile = s3.profile !== undefined;
    const context = { env, profile, explicitProfile, region: place.region, clock };
    return { place, http, credentials: new CredentialChain(context, http) };
  }
}
