/** For tests: a store that speaks S3. */
import { createHash } from "node:crypto";
import type { IncomingMessage } from "node:http";
import { crc32 } from "node:zlib";
import { encodeXml } from "../store/http/xml.ts";
import { FakeStore, page, ranged, type Reply } from "./fake-store.ts";

interface Upload {
  readonly key: string;
  /** It was begun with CRC-32. */
  readonly checked: boolean;
  readonly parts: Map<number, Buffer>;
}

export class FakeS3 extends FakeStore {
  readonly uploads = new Map<string, Upload>();
  /** What it makes of a header about checksums. */
  checksums: "known" | "unknown" | "refused" = "known";
  /** As a policy of the bucket may demand it. */
  demandsSigned = false;
  /** A byte of the next part is lost on its way into the store. */
  damages = false;
  #next = 1;

  override get pending(): number {
    return this.uploads.size;
  }

  protected override failure(status: number): Reply {
    const code = { 403: "AccessDenied", 507: "XMinioStorageFull" }[status] ?? "InternalError";
    return { status, body: error(code) };
  }

  protected override handle(request: IncomingMessage, url: URL, body: Buffer): Reply {
    const hash = request.headers["x-amz-content-sha256"];
    if (hash === "UNSIGNED-PAYLOAD" && this.demandsSigned)
      return { status: 403, body: error("AccessDenied") };
    if (hash !== "UNSIGNED-PAYLOAD" && createHash("sha256").update(body).digest("hex") !== hash)
      return { status: 400, body: error("XAmzContentSHA256Mismatch") };
    if (this.checksums === "refused" && request.headers["x-amz-checksum-algorithm"] !== undefined)
      return { status: 501, body: error("NotImplemented") };
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
        else {
          const upload = this.uploads.get(uploadId);
          if (this.damages) body[0] = (body[0] ?? 0) ^ 1;
          this.damages = false;
          if (upload?.checked && sumOf(body) !== request.headers["x-amz-checksum-crc32"])
            return { status: 400, body: error("BadDigest") };
          upload?.parts.set(Number(part), body);
        }
        return { status: 200, body: Buffer.alloc(0), headers: { etag: `"${tag(body)}"` } };
      }
      case "POST": {
        if (query.has("uploads")) {
          const id = `upload-${this.#next++}`;
          const algorithm = request.headers["x-amz-checksum-algorithm"];
          const checked = this.checksums === "known" && algorithm === "CRC32";
          this.uploads.set(id, { key, checked, parts: new Map() });
          return {
            status: 200,
            body: Buffer.from(`<R><UploadId>${id}</UploadId></R>`),
            ...(checked && { headers: { "x-amz-checksum-algorithm": "CRC32" } }),
          };
        }
        const upload = this.uploads.get(uploadId);
        if (upload === undefined) return { status: 404, body: error("NoSuchUpload") };
        const numbers = [...body.toString().matchAll(/<PartNumber>(\d+)</g)].map(([, number]) =>
          Number(number),
        );
        const found = numbers.map((number) => upload.parts.get(number));
        if (found.some((part) => part === undefined)) return { status: 400, body: error("InvalidPart") };
        const sums = [...body.toString().matchAll(/<ChecksumCRC32>([^<]*)</g)].map(([, sum]) => sum);
        if (upload.checked && !found.every((part, i) => part && sumOf(part) === sums[i]))
          return { status: 400, body: error("InvalidPart") };
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

function sumOf(bytes: Buffer): string {
  return Buffer.from(crc32(bytes).toString(16).padStart(8, "0"), "hex").toString("base64");
}

function tag(bytes: Buffer): string {
  return createHash("sha256").update(bytes).digest("hex").slice(0, 32);
}

function error(code: string): Buffer {
  return Buffer.from(
    `<?xml version="1.0"?><Error><Code>${code}</Code><Message>as the test wants</Message></Error>`,
  );
}
