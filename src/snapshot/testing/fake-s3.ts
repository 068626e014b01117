/** For tests: a store that speaks S3. */
import { createHash } from "node:crypto";
import type { IncomingMessage } from "node:http";
import { encodeXml } from "../store/http/xml.ts";
import { FakeStore, page, ranged, type Reply } from "./fake-store.ts";

interface Upload {
  readonly key: string;
  readonly parts: Map<number, Buffer>;
}

export class FakeS3 extends FakeStore {
  readonly uploads = new Map<string, Upload>();
  #next = 1;

  override get pending(): number {
    return this.uploads.size;
  }

  protected override failure(): Buffer {
    return error("InternalError");
  }

  protected override handle(request: IncomingMessage, url: URL, body: Buffer): Reply {
    if (createHash("sha256").update(body).digest("hex") !== request.headers["x-amz-content-sha256"])
      return { status: 400, body: error("XAmzContentSHA256Mismatch") };
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

  #list(query: URLSearchParams): Reply {
    const { names, next } = page(
      this.objects,
      query.get("prefix") ?? "",
      Number(query.get("continuation-token") ?? 0),
    );
    const contents = names.map(
      (name) =>
        `<Contents><Key>${encodeXml(name)}</Key><Size>${this.objects.get(name)?.length}</Size><LastModified>2026-01-01T00:00:00.000Z</LastModified></Contents>`,
    );
    const more =
      next === undefined
        ? ""
        : `<IsTruncated>true</IsTruncated><NextContinuationToken>${next}</NextContinuationToken>`;
    return {
      status: 200,
      body: Buffer.from(`<ListBucketResult>${contents.join("")}${more}</ListBucketResult>`),
    };
  }

  #read(request: IncomingMessage, key: string): Reply {
    const found = this.objects.get(key);
    if (found === undefined)
      return { status: 404, body: request.method === "HEAD" ? Buffer.alloc(0) : error("NoSuchKey") };
    const headers = { etag: `"${tag(found)}"`, "last-modified": "Thu, 01 Jan 2026 00:00:00 GMT" };
    const match = request.headers["if-match"];
    if (match !== undefined && match !== headers.etag)
      return { status: 412, body: error("PreconditionFailed") };
    return ranged(request, found, headers);
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
