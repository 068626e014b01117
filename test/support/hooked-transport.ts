/**
 * A way to the API server on which a test stands: it can refuse a request, change it, hold it back and let it arrive
 * long after its sender has given up, and keep back the news of all watches, so that the caches grow old.
 */
import type { KubeObject } from "../../src/kube/resources.ts";
import { Http2Transport } from "../../src/kube/transport.ts";
import { systemClock } from "../../src/seams/clock.ts";
import { systemDisk } from "../../src/seams/disk.ts";
import {
  KubeFailure,
  type KubeCallOptions,
  type KubeRequest,
  type KubeResponse,
  type KubeStreamResponse,
  type KubeTransport,
} from "../../src/seams/kube-transport.ts";
import { eventually } from "../../testbed/eventually.ts";
import type { TestTestbed } from "../../testbed/for-tests.ts";
import { configOf } from "./kube-runtime.ts";

/** What was asked for, `POST /api/v1/namespaces/default/pods/demo-1`, and the server's answer to it. */
export interface Answered {
  readonly what: string;
  readonly status: number;
  /** It was held back until then. */
  readonly late: boolean;
}

export class HookedTransport implements KubeTransport {
  readonly answers: Answered[] = [];
  /** Answered with an error of the server, and not passed on. */
  refuses: (what: string, request: KubeRequest) => boolean = () => false;
  /** What is sent instead. */
  rewrites: (what: string, body: object) => object = (_what, body) => body;
  /** Kept until `release`, and sent then, whoever still waits for it. */
  holds: (what: string, request: KubeRequest) => boolean = () => false;
  readonly #http: KubeTransport;
  #released = Promise.withResolvers<void>();
  #news: { records: PromiseWithResolvers<void>; others: PromiseWithResolvers<void> } | undefined;
  /** The newest version that a watch of records told. */
  #reported = 0n;

  constructor(bed: TestTestbed) {
    this.#http = new Http2Transport({ config: configOf(bed), clock: systemClock, disk: systemDisk });
  }

  /** What was held arrives now; nothing is held any more. */
  release(): void {
    this.holds = () => false;
    this.#released.resolve();
    this.#released = Promise.withResolvers();
  }

  /** From now on no watch tells anything. */
  keepNews(): void {
    this.#news ??= { records: Promise.withResolvers(), others: Promise.withResolvers() };
  }

  /** Those of records only, until the one of this version was reported: what was made from a record is never seen before it. */
  async passRecords(version: bigint): Promise<void> {
    this.#news?.records.resolve();
    await eventually("the records are reported", () => this.#reported >= version);
  }

  passNews(): void {
    this.#news?.records.resolve();
    this.#news?.others.resolve();
    this.#news = undefined;
  }

  async request(request: KubeRequest, options: KubeCallOptions): Promise<KubeResponse> {
    const what = describe(request);
    if (this.refuses(what, request)) return { status: 500, body: failure("refused by the test") };
    if (!this.holds(what, request)) return await this.#send(what, request, options, false);
    const { signal } = new AbortController();
    const late = this.#released.promise.then(() => this.#send(what, request, { ...options, signal }, true));
    late.catch(() => undefined);
    return await Promise.race([late, givenUp(options.signal)]);
  }

  async stream(request: KubeRequest, options: KubeCallOptions): Promise<KubeStreamResponse> {
    const answer = await this.#http.stream(request, options);
    if (!answer.ok) return answer;
    const isOfRecords = request.path.endsWith("/etcdmembers");
    const news = () => this.#news?.[isOfRecords ? "records" : "others"].promise;
    const note = (object: unknown) => {
      const { metadata } = (object as { object?: KubeObject }).object ?? {};
      if (isOfRecords) this.#reported = BigInt(metadata?.resourceVersion ?? 0);
    };
    const objects = async function* () {
      for await (const object of answer.objects) {
        const wait = news();
        if (wait) await Promise.race([wait, givenUp(options.signal)]);
        yield object;
        note(object);
      }
    };
    return { ok: true, objects: objects() };
  }

  async close(): Promise<void> {
    this.release();
    this.passNews();
    await this.#http.close();
  }

  async #send(
    what: string,
    request: KubeRequest,
    options: KubeCallOptions,
    late: boolean,
  ): Promise<KubeResponse> {
    const body = request.body && this.rewrites(what, request.body);
    const answer = await this.#http.request({ ...request, ...(body && { body }) }, options);
    if (request.method !== "GET") this.answers.push({ what, status: answer.status, late });
    return answer;
  }
}

/** A POST is for a whole collection, and names its object in the body. */
function describe({ method, path, body, query }: KubeRequest): string {
  const name = (body as { metadata?: { name?: string } } | undefined)?.metadata?.name;
  const object = method === "POST" && name !== undefined ? `${path}/${name}` : path;
  return `${method} ${object}${query?.["dryRun"] === undefined ? "" : " (dry run)"}`;
}

function failure(message: string) {
  return { kind: "Status", status: "Failure", reason: "InternalError", message, code: 500 };
}

function givenUp(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    const end = () => reject(new KubeFailure("interrupted", "timeout", "no answer in time"));
    if (signal.aborted) end();
    signal.addEventListener("abort", end, { once: true });
  });
}
