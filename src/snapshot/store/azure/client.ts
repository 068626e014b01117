/** Requests to one container, with the key, the signature or a token of the account, repeated where that helps. */
import { createHash } from "node:crypto";
import type { Clock } from "../../../seams/clock.ts";
import type { Random } from "../../../seams/random.ts";
import { isSuccess } from "../http/failure.ts";
import { HttpClient, type HttpAnswer, type HttpStream } from "../http/http.ts";
import { Renewed } from "../http/renewed.ts";
import { Retries, type Attempted } from "../http/retry.ts";
import type { AccessToken } from "../http/token.ts";
import { encodePath, encodeQuery } from "../http/encode.ts";
import { AzureFailure, storeError } from "./errors.ts";
import { findToken } from "./identity.ts";
import { resolvePlace, type AzurePlace, type AzureSettings } from "./settings.ts";
import { sharedKey } from "./sign.ts";

export interface AzureOptions {
  readonly container: string;
  readonly azure: AzureSettings;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly clock: Clock;
  readonly random: Random;
}

export interface AzureRequest extends Attempted {
  readonly method: "GET" | "HEAD" | "PUT" | "DELETE";
  /** The blob; empty for the container. */
  readonly key: string;
  readonly query?: Readonly<Record<string, string>>;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: Uint8Array;
}

const API_VERSION = "2021-12-02";

interface Opened {
  readonly place: AzurePlace;
  readonly http: HttpClient;
  readonly token: Renewed<AccessToken>;
}

export class AzureClient {
  readonly retries: Retries<AzureFailure>;
  readonly #options: AzureOptions;
  #opening: Promise<Opened> | undefined;

  constructor(options: AzureOptions) {
    this.#options = options;
    this.retries = new Retries({ ...options, explain: storeError });
  }

  async send(
    request: AzureRequest,
    accept: (failure: AzureFailure) => boolean = () => false,
  ): Promise<HttpAnswer | AzureFailure> {
    return await this.retries.run(request, accept, async () => {
      const opened = await this.#open();
      const answer = await opened.http.whole(await this.#prepared(opened, request));
      if (isSuccess(answer.status)) return answer;
      throw new AzureFailure(answer.status, answer.headers, answer.body.toString("utf8"));
    });
  }

  /** The beginning of an answer whose body is read as it comes. */
  async stream(request: AzureRequest): Promise<HttpStream> {
    const answer = await this.retries.run(
      request,
      () => false,
      async () => {
        const opened = await this.#open();
        const begun = await opened.http.stream(await this.#prepared(opened, request));
        if (isSuccess(begun.status)) return begun;
        begun.body.destroy();
        throw new AzureFailure(begun.status, begun.headers, "");
      },
    );
    return answer as HttpStream;
  }

  async #prepared({ place, token }: Opened, request: AzureRequest) {
    const { container, clock } = this.#options;
    const path = `${place.base}${container}${request.key === "" ? "" : `/${encodePath(request.key)}`}`;
    const query = { ...request.query, ...place.sas };
    const headers: Record<string, string> = {
      "x-ms-date": new Date(clock.now()).toUTCString(),
      "x-ms-version": API_VERSION,
      ...request.headers,
      // The store checks it against what came.
      ...(request.body !== undefined && {
        "content-md5": createHash("md5").update(request.body).digest("base64"),
        "content-type": "application/octet-stream",
      }),
    };
    if (place.key !== undefined)
      headers["authorization"] = sharedKey(
        { method: request.method, path, query, headers, length: request.body?.length ?? 0 },
        place.account,
        place.key,
      );
    else if (place.sas === undefined)
      headers["authorization"] = `Bearer ${(await token.get(request.signal)).token}`;
    const text = encodeQuery(query);
    return {
      method: request.method,
      origin: place.origin,
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
    const { azure, env, clock } = this.#options;
    const place = await resolvePlace(azure, env);
    const tokens = HttpClient.forTokens(place.ca);
    return {
      place,
      http: new HttpClient(place.ca),
      token: new Renewed(clock, async (signal) => await findToken(env, clock, tokens, signal)),
    };
  }
}
