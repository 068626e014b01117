/**
 * The issuer of OpenID Connect tokens: where its token endpoint is (its discovery document says it), and a new ID token
 * for a refresh token (RFC 6749, section 6).
 */
import { request as requestHttp, type RequestOptions } from "node:http";
import { connectTo, secureContext } from "../../http2/dial.ts";
import { connectFailure, ended } from "../../http2/failure.ts";
import { deadline, type Clock } from "../../seams/clock.ts";
import { readBody } from "../answer.ts";
import { isFields, textIn } from "../kubeconfig/files.ts";
import type { RefreshedTokens } from "../kubeconfig/oidc-user.ts";

const CALL_MS = 20_000;

export interface IssuerRequest {
  readonly url: string;
  readonly ca: string | undefined;
  readonly proxy: string | undefined;
  /** Sent as a form by POST; a GET without. */
  readonly form?: Readonly<Record<string, string>>;
  readonly authorization?: string;
}

export interface IssuerAnswer {
  readonly status: number;
  readonly body: unknown;
}

export type AskIssuer = (request: IssuerRequest) => Promise<IssuerAnswer>;

export interface Refresh {
  readonly issuer: string;
  readonly clientID: string;
  readonly clientSecret: string | undefined;
  readonly refreshToken: string;
  readonly ca: string | undefined;
  readonly proxyTo: (url: string) => string | undefined;
}

/** Why there is no new token; `login`: only a new login helps. */
export class RefreshError extends Error {
  override name = "RefreshError";
  readonly login: boolean;
  constructor(message: string, login: boolean, options?: ErrorOptions) {
    super(message, options);
    this.login = login;
  }
}

export async function refreshed(ask: AskIssuer, refresh: Refresh): Promise<RefreshedTokens> {
  const { issuer, clientID, clientSecret, refreshToken, ca, proxyTo } = refresh;
  const discovery = `${issuer.replace(/\/$/, "")}/.well-known/openid-configuration`;
  const call = async (request: Omit<IssuerRequest, "ca" | "proxy">) => {
    if (!/^https?:$/.test(URL.parse(request.url)?.protocol ?? ""))
      throw new RefreshError(`${request.url} is not an http(s) URL`, false);
    try {
      return await ask({ ...request, ca, proxy: proxyTo(request.url) });
    } catch (cause) {
      throw new RefreshError(`${request.url}: ${(cause as Error).message}`, false, { cause });
    }
  };
  const found = await call({ url: discovery });
  const endpoint = isFields(found.body) ? textIn(found.body, "token_endpoint") : undefined;
  if (found.status !== 200 || endpoint === undefined)
    throw new RefreshError(`${discovery} names no token endpoint (HTTP status ${found.status})`, false);
  const form = { grant_type: "refresh_token", refresh_token: refreshToken };
  const inForm = { ...form, client_id: clientID, ...(clientSecret && { client_secret: clientSecret }) };
  const byForm = async () => await call({ url: endpoint, form: inForm });
  const answer =
    clientSecret === undefined || !takesBasic(found.body)
      ? await byForm()
      : await call({ url: endpoint, form, authorization: basic(clientID, clientSecret) });
  // Some say nothing of how they want the secret, and take it in the form only.
  const again = answer.status === 401 && clientSecret !== undefined ? await byForm() : answer;
  return tokensIn(endpoint, again);
}

/** The standard's default is Basic. */
function takesBasic(discovery: unknown): boolean {
  const methods = isFields(discovery) ? discovery["token_endpoint_auth_methods_supported"] : undefined;
  return !Array.isArray(methods) || methods.includes("client_secret_basic");
}

function basic(id: string, secret: string): string {
  const pair = [id, secret].map((part) => encodeURIComponent(part)).join(":");
  return `Basic ${Buffer.from(pair).toString("base64")}`;
}

function tokensIn(endpoint: string, { status, body }: IssuerAnswer): RefreshedTokens {
  const fields = isFields(body) ? body : {};
  if (status !== 200) {
    const why = [textIn(fields, "error"), textIn(fields, "error_description")]
      .filter((one) => one !== undefined)
      .join(": ");
    throw new RefreshError(
      `${endpoint} answered with HTTP status ${status}${why === "" ? "" : ` (${why.slice(0, 300)})`}`,
      status < 500 && status !== 429,
    );
  }
  const idToken = textIn(fields, "id_token");
  if (idToken === undefined)
    throw new RefreshError(
      `the answer of ${endpoint} has no id_token: the scope openid was not asked for at login, or the issuer gives none for a refresh token`,
      true,
    );
  return { idToken, refreshToken: textIn(fields, "refresh_token") };
}

/** One call over HTTP/1.1, on a connection of its own. */
export function issuerOver(clock: Clock): AskIssuer {
  return async ({ url, ca, proxy, form, authorization }) => {
    using limit = deadline(clock, CALL_MS);
    const { signal } = limit;
    const target = { url, ...(proxy !== undefined && { proxy }) };
    const { pathname, search, host } = new URL(url);
    const wishes = { clock, withinMs: CALL_MS, ca, protocol: "http/1.1" } as const;
    const socket = await connectTo(target, secureContext({ ca }), wishes);
    const text = form && new URLSearchParams({ ...form }).toString();
    const options: RequestOptions = {
      createConnection: () => socket,
      method: text === undefined ? "GET" : "POST",
      path: `${pathname}${search}`,
      headers: {
        host,
        accept: "application/json",
        connection: "close",
        ...(text !== undefined && {
          "content-type": "application/x-www-form-urlencoded",
          "content-length": String(Buffer.byteLength(text)),
        }),
        ...(authorization !== undefined && { authorization }),
      },
    };
    try {
      return await new Promise<IssuerAnswer>((resolve, reject) => {
        signal.addEventListener("abort", () => reject(ended(signal, "interrupted")), { once: true });
        const call = requestHttp(options);
        call.once("error", (error) => reject(connectFailure(error)));
        call.once("response", (response) => {
          readBody(response).then((body) => resolve({ status: response.statusCode ?? 0, body }), reject);
        });
        call.end(text);
      });
    } finally {
      socket.destroy();
    }
  };
}
