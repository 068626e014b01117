/** Requests to one store: opened once, prepared anew for every try, and repeated where that helps. */
import type { IncomingHttpHeaders } from "node:http";
import type { Clock } from "../../../seams/clock.ts";
import type { Random } from "../../../seams/random.ts";
import { isSuccess, type HttpFailure } from "./failure.ts";
import type { HttpAnswer, HttpClient, HttpRequest, HttpStream } from "./http.ts";
import { Retries, type Attempted, type RetryOptions } from "./retry.ts";

/** What every store is opened with. */
export interface StoreSurroundings {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly clock: Clock;
  readonly random: Random;
  /** Longest silence of the store before a request is tried again. */
  readonly idleMs?: number | undefined;
}

/** One object of a store whose requests are a method, a name and a query. */
export interface ObjectRequest extends Attempted {
  readonly method: "GET" | "HEAD" | "PUT" | "POST" | "DELETE";
  /** Empty for the bucket or container itself. */
  readonly key: string;
  readonly query?: Readonly<Record<string, string>>;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: Uint8Array;
}

/** An answer that is no success. */
export interface Refused {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
}

export interface Opened<R> {
  readonly http: HttpClient;
  /** With the credentials of this moment. */
  readonly prepare: (request: R) => Promise<HttpRequest>;
}

export interface ClientOptions<R, F extends HttpFailure> extends RetryOptions<F> {
  /** Called once, before the first request. */
  readonly open: () => Promise<Opened<R>>;
  readonly failure: (refused: Refused, request: R) => F;
  /** Statuses that are answers; successes unless told. */
  readonly isAnswer?: (status: number) => boolean;
  readonly idleMs?: number | undefined;
  /** A failure in an answer that looks like a success. */
  readonly hidden?: (answer: HttpAnswer, request: R) => F | undefined;
}

/** Errors are small; what is longer is none that could be told. */
const LONGEST_ERROR = 65_536;

export class StoreClient<R extends Attempted, F extends HttpFailure> {
  readonly retries: Retries<F>;
  readonly #options: ClientOptions<R, F>;
  #opening: Promise<Opened<R>> | undefined;

  constructor(options: ClientOptions<R, F>) {
    this.#options = options;
    this.retries = new Retries(options);
  }

  /** One try, for uploads that take up where they were. */
  async once(request: R): Promise<HttpAnswer> {
    const { failure, isAnswer = isSuccess, hidden } = this.#options;
    const { http, prepared } = await this.#prepare(request);
    const answer = await http.whole(prepared);
    const { status, headers, body } = answer;
    if (!isAnswer(status)) throw failure({ status, headers, text: body.toString("utf8") }, request);
    const late = hidden?.(answer, request);
    if (late) throw late;
    return answer;
  }

  /** A success, or a `StoreError` after the last try; failures that `accept` names are returned to the caller. */
  async send(request: R, accept: (failure: F) => boolean = () => false): Promise<HttpAnswer | F> {
    return await this.retries.run(request, accept, async () => await this.once(request));
  }

  /** The beginning of an answer whose body is read as it comes. */
  async stream(request: R): Promise<HttpStream> {
    const never = () => false;
    return (await this.retries.run(request, never, async () => await this.#begin(request))) as HttpStream;
  }

  async #begin(request: R): Promise<HttpStream> {
    const { http, prepared } = await this.#prepare(request);
    const { status, headers, body } = await http.stream(prepared);
    if (isSuccess(status)) return { status, headers, body };
    let text = "";
    for await (const part of body as AsyncIterable<Buffer>)
      if (text.length < LONGEST_ERROR) text += part.toString("utf8");
    throw this.#options.failure({ status, headers, text }, request);
  }

  async #prepare(request: R): Promise<{ http: HttpClient; prepared: HttpRequest }> {
    const { http, prepare } = await this.#open();
    const { idleMs } = this.#options;
    return { http, prepared: { ...(await prepare(request)), ...(idleMs !== undefined && { idleMs }) } };
  }

  #open(): Promise<Opened<R>> {
    return (this.#opening ??= this.#options.open());
  }
}

/** A path with its query, as requests have it. */
export function withQuery(path: string, query: string): string {
  return query === "" ? path : `${path}?${query}`;
}
