/** Access tokens (OAuth 2.0), as Google and Microsoft hand them out. */
import { readFile } from "node:fs/promises";
import { StoreError } from "../store.ts";
import { isSuccess } from "./failure.ts";
import { NetworkError, type HttpClient } from "./http.ts";
import type { Expires } from "./renewed.ts";

export interface AccessToken extends Expires {
  readonly token: string;
}

export interface TokenRequest {
  readonly url: string;
  readonly signal: AbortSignal;
  /** In messages: `the token of the service account`. */
  readonly what: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** Posted; without it the URL is read. */
  readonly form?: Readonly<Record<string, string>>;
  readonly json?: unknown;
  readonly idleMs?: number;
}

/** Who asks a server that is not encrypted for a token, or gives it one, hands it to everybody on the way. */
function requireSafe(url: string, what: string): URL {
  const parsed = URL.canParse(url) ? new URL(url) : undefined;
  const isLocal = /^127\.|^localhost$|^\[::1\]$|^169\.254\.|^metadata\.google\.internal$/.test(
    parsed?.hostname ?? "",
  );
  if (parsed?.protocol !== "https:" && !(parsed?.protocol === "http:" && isLocal))
    throw new StoreError(
      "invalid",
      `cannot fetch ${what} from ${url}: it is neither https nor a local address`,
    );
  return parsed;
}

export async function askJson(
  http: HttpClient,
  request: TokenRequest,
): Promise<Readonly<Record<string, unknown>>> {
  const { origin, pathname, search } = requireSafe(request.url, request.what);
  const body =
    request.form === undefined
      ? request.json === undefined
        ? undefined
        : JSON.stringify(request.json)
      : new URLSearchParams(request.form).toString();
  const answer = await http.whole({
    method: body === undefined ? "GET" : "POST",
    origin,
    path: `${pathname}${search}`,
    headers: {
      accept: "application/json",
      ...(request.form !== undefined && { "content-type": "application/x-www-form-urlencoded" }),
      ...(request.json !== undefined && { "content-type": "application/json" }),
      ...request.headers,
    },
    body: body === undefined ? undefined : Buffer.from(body),
    signal: request.signal,
    ...(request.idleMs !== undefined && { idleMs: request.idleMs }),
  });
  const fields = parseObject(answer.body.toString("utf8"));
  if (isSuccess(answer.status)) return fields;
  // Asked again, as for a network that fails.
  if (answer.status >= 500 || answer.status === 429)
    throw new NetworkError(`${origin} answered with HTTP status ${answer.status} instead of ${request.what}`);
  const code = typeof fields["error"] === "string" ? fields["error"] : `HTTP status ${answer.status}`;
  throw new StoreError(
    "denied",
    `${origin} refused ${request.what}: ${code}; check the identity and its rights`,
  );
}

/** Standard fields of an answer with a token. */
export async function askToken(http: HttpClient, now: number, request: TokenRequest): Promise<AccessToken> {
  const fields = await askJson(http, request);
  const token = fields["access_token"] ?? fields["accessToken"];
  if (typeof token !== "string" || token === "")
    throw new StoreError("denied", `${new URL(request.url).origin} answered without ${request.what}`);
  const seconds = Number(fields["expires_in"]);
  const at =
    typeof fields["expireTime"] === "string" ? Date.parse(fields["expireTime"]) : now + seconds * 1000;
  return { token, expiresAt: Number.isNaN(at) ? now + 3_000_000 : at };
}

export function parseObject(text: string): Readonly<Record<string, unknown>> {
  try {
    const parsed: unknown = JSON.parse(text);
    return typeof parsed === "object" && parsed !== null ? (parsed as Record<string, unknown>) : {};
  } catch {
    return {};
  }
}

export async function readSecretFile(file: string, what: string): Promise<string> {
  try {
    return await readFile(file, "utf8");
  } catch (error) {
    throw new StoreError("denied", `cannot read ${what} ${file}: ${(error as Error).message}`, {
      cause: error,
    });
  }
}

/** CA certificates of an endpoint that a file holds. */
export async function readCa(file: string | undefined): Promise<string | undefined> {
  return file === undefined ? undefined : await readSecretFile(file, "the CA certificates");
}
