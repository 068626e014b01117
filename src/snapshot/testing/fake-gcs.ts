/** For tests: a store that speaks the JSON API of Google Cloud Storage, with resumable uploads. */
import { createHash } from "node:crypto";
import type { IncomingMessage } from "node:http";
import { FakeStore, page, ranged, type Reply } from "./fake-store.ts";

interface Session {
  readonly key: string;
  readonly ifFree: boolean;
  bytes: Buffer;
}

export const TOKEN = "a-token";

export class FakeGcs extends FakeStore {
  readonly sessions = new Map<string, Session>();
  /** Takes at most so much of each part, as the real one may. */
  takes = Infinity;
  /** Stores the last byte of an object wrong. */
  damages = false;
  #next = 1;

  override get pending(): number {
    return this.sessions.size;
  }

  protected override failure(status: number): Reply {
    // It has no 507: what is full is a quota of the project.
    if (status === 507) return refused(403, "quotaExceeded");
    return refused(status, status === 403 ? "forbidden" : "backendError");
  }

  protected override handle(request: IncomingMessage, url: URL, body: Buffer): Reply {
    if (url.pathname === "/token") return json(200, { access_token: TOKEN, expires_in: 3600 });
    if (request.headers.authorization !== `Bearer ${TOKEN}`) return refused(401, "authError");
    const { searchParams: query } = url;
    const session = query.get("upload_id");
    if (session !== null) return this.#resume(request, session, body);
    const [, bucket, key = ""] = /\/b\/([^/]+)\/o\/?(.*)$/.exec(url.pathname)?.map(decodeURIComponent) ?? [];
    if (bucket !== "bucket") return refused(404, "notFound");
    if (url.pathname.startsWith("/upload/")) return this.#upload(url, body);
    if (key === "") return this.#list(query);
    const found = this.objects.get(key);
    if (found === undefined) return refused(404, "notFound");
    const match = query.get("ifGenerationMatch");
    if (match !== null && match !== generation(found)) return refused(412, "conditionNotMet");
    if (request.method === "DELETE") {
      this.objects.delete(key);
      return { status: 204, body: Buffer.alloc(0) };
    }
    if (query.get("alt") !== "media") return json(200, resource(key, found));
    return ranged(request, found, { "x-goog-generation": generation(found) });
  }

  #upload({ searchParams: query }: URL, body: Buffer): Reply {
    const key = query.get("name") ?? "";
    const ifFree = query.get("ifGenerationMatch") === "0";
    if (ifFree && this.objects.has(key)) return refused(412, "conditionNotMet");
    if (query.get("uploadType") === "media") return this.#finish(key, body);
    const id = `session-${this.#next++}`;
    this.sessions.set(id, { key, ifFree, bytes: Buffer.alloc(0) });
    return {
      status: 200,
      body: Buffer.alloc(0),
      headers: { location: `https://elsewhere.invalid/upload?upload_id=${id}` },
    };
  }

  #resume(request: IncomingMessage, id: string, body: Buffer): Reply {
    const session = this.sessions.get(id);
    if (session === undefined) return refused(404, "notFound");
    if (request.method === "DELETE") {
      this.sessions.delete(id);
      return { status: 499, body: Buffer.alloc(0) };
    }
    const [, start, total] =
      /^bytes (?:(\d+)-\d+|\*)\/(\d+|\*)$/.exec(request.headers["content-range"] ?? "") ?? [];
    if (start !== undefined && Number(start) !== session.bytes.length) return refused(400, "invalid");
    session.bytes = Buffer.concat([session.bytes, body.subarray(0, this.takes)]);
    if (total === String(session.bytes.length)) {
      if (session.ifFree && this.objects.has(session.key)) {
        this.sessions.delete(id);
        return refused(412, "conditionNotMet");
      }
      this.sessions.delete(id);
      return this.#finish(session.key, session.bytes);
    }
    const range = session.bytes.length === 0 ? undefined : { range: `bytes=0-${session.bytes.length - 1}` };
    return { status: 308, body: Buffer.alloc(0), ...(range && { headers: range }) };
  }

  #finish(key: string, sent: Buffer): Reply {
    const bytes = Buffer.from(sent);
    if (this.damages) bytes[bytes.length - 1] = (bytes.at(-1) ?? 0) ^ 1;
    this.objects.set(key, bytes);
    return json(200, resource(key, bytes));
  }

  #list(query: URLSearchParams): Reply {
    const { names, next } = page(
      this.objects,
      query.get("prefix") ?? "",
      Number(query.get("pageToken") ?? 0),
    );
    const items = names.map((name) => resource(name, this.objects.get(name) as Buffer));
    return json(200, {
      kind: "storage#objects",
      items,
      ...(next !== undefined && { nextPageToken: String(next) }),
    });
  }
}

function generation(bytes: Buffer): string {
  return String(createHash("md5").update(bytes).digest().readUInt32BE());
}

function resource(name: string, bytes: Buffer) {
  return {
    name,
    size: String(bytes.length),
    updated: "2026-01-01T00:00:00.000Z",
    generation: generation(bytes),
    md5Hash: createHash("md5").update(bytes).digest("base64"),
  };
}

function json(status: number, value: unknown): Reply {
  return { status, body: Buffer.from(JSON.stringify(value)) };
}

function refused(status: number, reason: string): Reply {
  return json(status, { error: { code: status, message: "as the test wants", errors: [{ reason }] } });
}
