/**
 * Tokens for Google Cloud Storage as Google's own libraries find them (Application Default Credentials): a file with
 * the key of a service account, a user's login or a workload identity federation; else the metadata service, which
 * stands for the service account of a machine or of a Pod on GKE.
 */
import { createSign } from "node:crypto";
import { stat } from "node:fs/promises";
import os from "node:os";
import path from "node:path";
import type { Clock } from "../../../seams/clock.ts";
import { NetworkError, type HttpClient } from "../http/http.ts";
import { askJson, askToken, parseObject, readSecretFile, type AccessToken } from "../http/token.ts";
import { StoreError } from "../store.ts";

export interface TokenContext {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly clock: Clock;
  readonly http: HttpClient;
}

const SCOPE = "https://www.googleapis.com/auth/devstorage.read_write";
const TOKEN_URL = "https://oauth2.googleapis.com/token";
const METADATA_MS = 2_000;

export async function findToken(context: TokenContext, signal: AbortSignal): Promise<AccessToken> {
  const file = await credentialFile(context.env);
  return file === undefined ? await fromMetadata(context, signal) : await fromFile(file, context, signal);
}

async function credentialFile(env: TokenContext["env"]): Promise<string | undefined> {
  if (env["GOOGLE_APPLICATION_CREDENTIALS"]) return env["GOOGLE_APPLICATION_CREDENTIALS"];
  const home = path.join(env["HOME"] || os.homedir(), ".config/gcloud/application_default_credentials.json");
  return (await stat(home).catch(() => undefined)) === undefined ? undefined : home;
}

async function fromFile(file: string, context: TokenContext, signal: AbortSignal): Promise<AccessToken> {
  const fields = parseObject(await readSecretFile(file, "the Google credentials"));
  const text = (name: string): string => {
    const value = fields[name];
    if (typeof value === "string" && value !== "") return value;
    throw new StoreError("invalid", `the Google credentials ${file} have no ${name}`);
  };
  const url = typeof fields["token_uri"] === "string" ? fields["token_uri"] : TOKEN_URL;
  const now = context.clock.now();
  switch (fields["type"]) {
    case "service_account":
      return await askToken(context.http, now, {
        url,
        form: {
          grant_type: "urn:ietf:params:oauth:grant-type:jwt-bearer",
          assertion: assertion(text("client_email"), text("private_key"), url, now, file),
        },
        signal,
        what: "the token of the service account",
      });
    case "authorized_user":
      return await askToken(context.http, now, {
        url,
        form: {
          grant_type: "refresh_token",
          client_id: text("client_id"),
          client_secret: text("client_secret"),
          refresh_token: text("refresh_token"),
        },
        signal,
        what: "the token of the user",
      });
    case "external_account":
      return await federated(fields, text, context, signal);
    default:
      throw new StoreError(
        "invalid",
        `the Google credentials ${file} are of a type that is not supported: use service_account, authorized_user or external_account`,
      );
  }
}

/** A claim of the service account, signed with its key. */
function assertion(email: string, key: string, audience: string, now: number, file: string): string {
  const seconds = Math.floor(now / 1000);
  const part = (value: object) => Buffer.from(JSON.stringify(value)).toString("base64url");
  const claim = { iss: email, scope: SCOPE, aud: audience, iat: seconds, exp: seconds + 3600 };
  const text = `${part({ alg: "RS256", typ: "JWT" })}.${part(claim)}`;
  try {
    return `${text}.${createSign("RSA-SHA256").update(text).sign(key, "base64url")}`;
  } catch (error) {
    throw new StoreError("invalid", `the private_key of the Google credentials ${file} cannot be used`, {
      cause: error,
    });
  }
}

/** A token of another provider, in a file or behind a URL, exchanged for one of Google's. */
async function federated(
  fields: Readonly<Record<string, unknown>>,
  text: (name: string) => string,
  context: TokenContext,
  signal: AbortSignal,
): Promise<AccessToken> {
  const now = context.clock.now();
  const exchanged = await askToken(context.http, now, {
    url: text("token_url"),
    form: {
      grant_type: "urn:ietf:params:oauth:grant-type:token-exchange",
      requested_token_type: "urn:ietf:params:oauth:token-type:access_token",
      audience: text("audience"),
      subject_token_type: text("subject_token_type"),
      subject_token: await subjectToken(fields["credential_source"], context, signal),
      scope: "https://www.googleapis.com/auth/cloud-platform",
    },
    signal,
    what: "the token of the workload identity",
  });
  const impersonation = fields["service_account_impersonation_url"];
  if (typeof impersonation !== "string") return exchanged;
  return await askToken(context.http, now, {
    url: impersonation,
    headers: { authorization: `Bearer ${exchanged.token}` },
    json: { scope: [SCOPE] },
    signal,
    what: "the token of the service account",
  });
}

async function subjectToken(source: unknown, { http }: TokenContext, signal: AbortSignal): Promise<string> {
  const { file, url, headers, format } = (source ?? {}) as {
    file?: string;
    url?: string;
    headers?: Record<string, string>;
    format?: { type?: string; subject_token_field_name?: string };
  };
  const field = format?.type === "json" ? (format.subject_token_field_name ?? "access_token") : undefined;
  let fields: Readonly<Record<string, unknown>> = {};
  if (file !== undefined) {
    const content = await readSecretFile(file, "the token");
    if (field === undefined) return content.trim();
    fields = parseObject(content);
  } else if (url !== undefined && field !== undefined)
    fields = await askJson(http, {
      url,
      ...(headers && { headers }),
      signal,
      what: "the token of the provider",
    });
  const token = fields[field ?? ""];
  if (typeof token === "string" && token !== "") return token;
  throw new StoreError(
    "invalid",
    "the Google credentials name a source of tokens that is not supported: use a file, or a URL that answers with JSON",
  );
}

async function fromMetadata({ env, clock, http }: TokenContext, signal: AbortSignal): Promise<AccessToken> {
  const host = env["GCE_METADATA_HOST"] ?? "169.254.169.254";
  try {
    return await askToken(http, clock.now(), {
      url: `http://${host}/computeMetadata/v1/instance/service-accounts/default/token`,
      headers: { "metadata-flavor": "Google" },
      signal,
      what: "the token of the machine's service account",
      idleMs: METADATA_MS,
    });
  } catch (error) {
    if (!(error instanceof NetworkError)) throw error;
    throw new StoreError(
      "denied",
      "no credentials for Google Cloud Storage were found: set GOOGLE_APPLICATION_CREDENTIALS, or run where a service account is attached (workload identity, a machine of Google Cloud)",
      { cause: error },
    );
  }
}
