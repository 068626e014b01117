/** For tests: a store that speaks as Azure Blob Storage does, with the account in the path. */
import { createHash } from "node:crypto";
import type { IncomingMessage } from "node:http";
import { encodeXml } from "../store/http/xml.ts";
import { sharedKey } from "../store/azure/sign.ts";
import { FakeStore, page, ranged, type Reply } from "./fake-store.ts";

export const ACCOUNT = "account";
export const KEY = Buffer.from("the key of the account");

export class FakeAzure extends FakeStore {
  readonly blocks = new Map<string, Buffer>();

  /** Blocks that nobody lists are forgotten. */
  override get pending(): number {
    return 0;
  }

  protected override failure(status: number): Reply {
    const code =
      { 403: "AuthorizationPermissionMismatch", 507: "InsufficientStorage" }[status] ?? "ServerBusy";
    return refused(status, code);
  }

  protected override handle(request: IncomingMessage, url: URL, body: Buffer): Reply {
    const headers = request.headers as Readonly<Record<string, string>>;
    const query = Object.fromEntries(url.searchParams);
    const signable = {
      method: request.method ?? "",
      path: url.pathname,
      query,
      headers,
      length: body.length,
    };
    if (headers["authorization"] !== sharedKey(signable, ACCOUNT, KEY))
      return refused(403, "AuthenticationFailed");
    if (body.length > 0 && md5(body) !== headers["content-md5"]) return refused(400, "Md5Mismatch");
    const [, , container, ...rest] = url.pathname.split("/").map(decodeURIComponent);
    const key = rest.join("/");
    if (container !== "bucket") return refused(404, "ContainerNotFound");
    if (headers["if-none-match"] !== undefined && this.objects.has(key))
      return refused(409, "BlobAlreadyExists");
    const created = { status: 201, body: Buffer.alloc(0) };
    switch (request.method) {
      case "PUT": {
        if (query["comp"] === "block") this.blocks.set(`${key} ${query["blockid"]}`, body);
        else if (query["comp"] === "blocklist") {
          const listed = [...body.toString().matchAll(/<Latest>([^<]+)</g)].map(([, id]) =>
            this.blocks.get(`${key} ${id}`),
          );
          if (listed.some((block) => block === undefined)) return refused(400, "InvalidBlockList");
          this.objects.set(key, Buffer.concat(listed as Buffer[]));
        } else if (headers["x-ms-blob-type"] === "BlockBlob") this.objects.set(key, body);
        else return refused(400, "MissingRequiredHeader");
        return created;
      }
      case "DELETE":
        return this.objects.delete(key) ? { ...created, status: 202 } : refused(404, "BlobNotFound");
      default:
        return key === "" ? this.#list(url.searchParams) : this.#read(request, key);
    }
  }

  #list(query: URLSearchParams): Reply {
    const { names, next } = page(this.objects, query.get("prefix") ?? "", Number(query.get("marker") ?? 0));
    const blobs = names.map(
      (name) =>
        `<Blob><Name>${encodeXml(name)}</Name><Properties><Last-Modified>Thu, 01 Jan 2026 00:00:00 GMT</Last-Modified><Content-Length>${this.objects.get(name)?.length}</Content-Length></Properties></Blob>`,
    );
    const more = next === undefined ? "<NextMarker />" : `<NextMarker>${next}</NextMarker>`;
    return {
      status: 200,
      body: Buffer.from(`<EnumerationResults><Blobs>${blobs.join("")}</Blobs>${more}</EnumerationResults>`),
    };
  }

  #read(request: IncomingMessage, key: string): Reply {
    const found = this.objects.get(key);
    if (found === undefined) return refused(404, "BlobNotFound");
    const headers = { etag: `"${md5(found)}"`, "last-modified": "Thu, 01 Jan 2026 00:00:00 GMT" };
    const match = request.headers["if-match"];
    if (match !== undefined && match !== headers.etag) return refused(412, "ConditionNotMet");
    return ranged(request, found, headers);
  }
}

function md5(bytes: Buffer): string {
  return createHash("md5").update(bytes).digest("base64");
}

function refused(status: number, code: string): Reply {
  return { status, body: error(code), headers: { "x-ms-error-code": code } };
}

function error(code: string): Buffer {
  return Buffer.from(
    `<?xml version="1.0"?><Error><Code>${code}</Code><Message>as the test wants</Message></Error>`,
  );
}
