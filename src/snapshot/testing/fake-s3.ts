/**
 * For tests: a small S3 server on loopback that keeps objects in memory and fails on purpose: connections cut in the
 * middle of a request or an answer, 500s, lost answers, wrong bytes, no conditional writes.
 */
import { createHash } from "node:crypto";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { encodeXml } from "../store/s3/xml.ts";

export interface FakeS3Faults {
  /** Answers 500 to so many requests. */
  errors: number;
  /** Cuts so many answers of GET in the middle. */
  cutReads: number;
  /** Does what it is asked to and cuts the connection instead of answering, so many times; for matching requests. */
  loseAnswers: number;
  losing: (request: IncomingMessage) => boolean;
  /** Cuts so many requests before their body has come. */
  cutWrites: number;
  unconditional: boolean;
}

interface Upload {
  readonly key: string;
  readonly parts: Map<number, Buffer>;
}

export class FakeS3 implements AsyncDisposable {
  readonly objects = new Map<string, Buffer>();
  readonly uploads = new Map<string, Upload>();
  readonly requests: string[] = [];
  readonly faults: FakeS3Faults = {
    errors: 0,
    cutReads: 0,
    loseAnswers: 0,
    losing: () => true,
    cutWrites: 0,
    unconditional: false,
  };
  readonly #server = createServer((request, response) => {
    void this.#serve(request, response);
  });
  #next = 1;

  static async start(): Promise<FakeS3> {
    const fake = new FakeS3();
    await new Promise<void>((resolve) => fake.#server.listen(0, "127.0.0.1", resolve));
    return fake;
  }

  get endpoint(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const url = new URL(request.url ?? "/", "http://fake");
    this.requests.push(`${request.method} ${url.pathname}${url.search}`);
    if (request.method === "PUT" && this.faults.cutWrites > 0) {
      this.faults.cutWrites--;
      request.socket.destroy();
      return;
    }
    const parts: Buffer[] = [];
    try {
      for await (const part of request as AsyncIterable<Buffer>) parts.push(part);
    } catch {
      return; // The client ended it.
    }
    const body = Buffer.concat(parts);
    if (this.faults.errors > 0) {
      this.faults.errors--;
      answer(response, 500, error("InternalError"));
      return;
    }
    if (createHash("sha256").update(body).digest("hex") !== request.headers["x-amz-content-sha256"]) {
      answer(response, 400, error("XAmzContentSHA256Mismatch"));
      return;
    }
    const done = this.#handle(request, url, body);
    if (this.faults.loseAnswers > 0 && this.faults.losing(request)) {
      this.faults.loseAnswers--;
      request.socket.destroy();
      return;
    }
    if (request.method === "GET" && done.status < 300 && this.faults.cutReads > 0 && done.body.length > 10) {
      this.faults.cutReads--;
      response.writeHead(done.status, { ...done.headers, "content-length": done.body.length });
      response.write(done.body.subarray(0, Math.floor(done.body.length / 2)), () => request.socket.destroy());
      return;
    }
    answer(response, done.status, done.body, done.headers, request.method === "HEAD");
  }

  #handle(
    request: IncomingMessage,
    url: URL,
    body: Buffer,
  ): { status: number; body: Buffer; headers?: Record<string, string> } {
    const [, bucket = "", ...rest] = url.pathname.split("/").map(decodeURIComponent);
    const key = rest.join("/");
    const { searchParams: query } = url;
    if (bucket !== "bucket") return { status: 404, body: error("NoSuchBucket") };
    if (request.headers["if-none-match"] !== undefined) {
      if (this.faults.unconditional) return { status: 501, body: error("NotImplemented") };
      if (this.objects.has(key)) return { status: 412, body: error("PreconditionFailed") };
    }
    const uploadId = query.get("uploadId") ?? "";
    switch (request.method) {
      case "PUT": {
        const part = query.get("partNumber");
        if (part === null) this.objects.set(key, body);
        else this.uploads.get(uploadId)?.parts.set(Number(part), body);
        return { status: 200, body: Buffer.alloc(0), headers: { etag: `"${tag(body)}"` } };
      }
      case "POST": {
        if (query.has("uploads")) {
          const id = `upload-${this.#next++}`;
          this.uploads.set(id, { key, parts: new Map() });
          return { status: 200, body: Buffer.from(`<R><UploadId>${id}</UploadId></R>`) };
        }
        const upload = this.uploads.get(uploadId);
        if (upload === undefined) return { status: 404, body: error("NoSuchUpload") };
        const numbers = [...body.toString().matchAll(/<PartNumber>(\d+)</g)].map(([, number]) =>
          Number(number),
        );
        const found = numbers.map((number) => upload.parts.get(number));
        if (found.some((part) => part === undefined)) return { status: 400, body: error("InvalidPart") };
        this.objects.set(key, Buffer.concat(found as Buffer[]));
        this.uploads.delete(uploadId);
        return { status: 200, body: Buffer.from("<CompleteMultipartUploadResult/>") };
      }
      case "DELETE":
        if (uploadId !== "") this.uploads.delete(uploadId);
        else this.objects.delete(key);
        return { status: 204, body: Buffer.alloc(0) };
      default:
        return key === "" ? this.#list(query) : this.#read(request, key);
    }
  }

  #list(query: URLSearchParams) {
    const names = [...this.objects.keys()]
      .filter((name) => name.startsWith(query.get("prefix") ?? ""))
      .toSorted();
    const from = Number(query.get("continuation-token") ?? 0);
    const page = names.slice(from, from + 2);
    const more = from + 2 < names.length;
    const contents = page.map(
      (name) =>
        `<Contents><Key>${encodeXml(name)}</Key><Size>${this.objects.get(name)?.length}</Size><LastModified>2026-01-01T00:00:00.000Z</LastModified></Contents>`,
    );
    const next = more ? `<NextContinuationToken>${from + 2}</NextContinuationToken>` : "";
    return {
      status: 200,
      body: Buffer.from(
        `<ListBucketResult><IsTruncated>${more}</IsTruncated>${contents.join("")}${next}</ListBucketResult>`,
      ),
    };
  }

  #read(request: IncomingMessage, key: string) {
    const found = this.objects.get(key);
    if (found === undefined)
      return { status: 404, body: request.method === "HEAD" ? Buffer.alloc(0) : error("NoSuchKey") };
    const headers = { etag: `"${tag(found)}"`, "last-modified": "Thu, 01 Jan 2026 00:00:00 GMT" };
    const match = request.headers["if-match"];
    if (match !== undefined && match !== headers.etag)
      return { status: 412, body: error("PreconditionFailed") };
    const [, start, end] = /^bytes=(\d+)-(\d*)$/.exec(request.headers.range ?? "") ?? [];
    if (start === undefined) return { status: 200, body: found, headers };
    return { status: 206, body: found.subarray(Number(start), end ? Number(end) + 1 : undefined), headers };
  }
}

function tag(bytes: Buffer): string {
  return createHash("sha256").update(bytes).digest("hex").slice(0, 32);
}

function error(code: string): Buffer {
  return Buffer.from(
    `<?xml version="1.0"?><Error><Code>${code}</Code><Message>as the test wants</Message></Error>`,
  );
}

function answer(
  response: ServerResponse,
  status: number,
  body: Buffer,
  headers: Record<string, string> = {},
  bodiless = false,
): void {
  response.writeHead(status, { ...headers, "content-length": body.length });
  response.end(bodiless ? undefined : body);
}
