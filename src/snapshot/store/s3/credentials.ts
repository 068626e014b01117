/**
 * Credentials as AWS's own tools find them: variables, a profile, a projected token that STS exchanges (IRSA), the
 * container endpoint (EKS Pod Identity, ECS), and the instance's metadata service (IMDSv2). Those that expire are
 * fetched again in time.
 */
import { readFile } from "node:fs/promises";
import type { Clock } from "../../../seams/clock.ts";
import { StoreError } from "../store.ts";
import { HttpClient, NetworkError, type HttpAnswer } from "../http/http.ts";
import { Renewed, type Expires } from "../http/renewed.ts";
import { encodePart } from "../http/encode.ts";
import type { Credentials } from "./sign.ts";
import type { Env } from "./settings.ts";
import { textOf } from "../http/xml.ts";

export interface Expiring extends Credentials, Expires {}

export interface CredentialContext {
  readonly env: Env;
  readonly profile: Readonly<Record<string, string>>;
  /** A profile that was asked for by name comes before the variables. */
  readonly explicitProfile: boolean;
  readonly region: string;
  readonly clock: Clock;
}

/** A link-local service answers at once or is not there. */
const METADATA_MS = 2_000;
const IMDS = "http://169.254.169.254";

type Source = (
  context: CredentialContext,
  http: HttpClient,
  signal: AbortSignal,
) => Promise<Expiring | undefined>;

export class CredentialChain {
  readonly #context: CredentialContext;
  readonly #http: HttpClient;
  readonly #renewed: Renewed<Expiring>;

  constructor(context: CredentialContext, http: HttpClient) {
    this.#context = context;
    this.#http = http;
    this.#renewed = new Renewed(context.clock, async (signal) => await this.#find(signal));
  }

  async get(signal: AbortSignal): Promise<Credentials> {
    return await this.#renewed.get(signal);
  }

  async #find(signal: AbortSignal): Promise<Expiring> {
    const order = this.#context.explicitProfile
      ? [fromProfile]
      : [fromEnvironment, fromProfile, fromWebIdentity, fromContainer, fromInstance];
    for (const source of order) {
      const found = await source(this.#context, this.#http, signal);
      if (found !== undefined) return found;
    }
    throw new StoreError(
      "denied",
      "no credentials for S3 were found: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, pass --s3-profile, or run where a role is attached (IRSA, EKS Pod Identity, an instance profile)",
    );
  }
}

const fromEnvironment: Source = ({ env }) => {
  const [accessKeyId, secretAccessKey] = [env["AWS_ACCESS_KEY_ID"], env["AWS_SECRET_ACCESS_KEY"]];
  if (!accessKeyId || !secretAccessKey) return Promise.resolve(undefined);
  return Promise.resolve({
    accessKeyId,
    secretAccessKey,
    sessionToken: env["AWS_SESSION_TOKEN"] || undefined,
  });
};

const fromProfile: Source = ({ profile, explicitProfile }) => {
  const [accessKeyId, secretAccessKey] = [profile["aws_access_key_id"], profile["aws_secret_access_key"]];
  if (accessKeyId && secretAccessKey)
    return Promise.resolve({ accessKeyId, secretAccessKey, sessionToken: profile["aws_session_token"] });
  if (explicitProfile)
    throw new StoreError(
      "invalid",
      "the profile has no aws_access_key_id and aws_secret_access_key: roles, SSO and processes in profiles are not supported; export their credentials with: aws configure export-credentials --format env",
    );
  return Promise.resolve(undefined);
};

const fromWebIdentity: Source = async ({ env, region, clock }, http, signal) => {
  const [file, role] = [env["AWS_WEB_IDENTITY_TOKEN_FILE"], env["AWS_ROLE_ARN"]];
  if (!file || !role) return undefined;
  const token = (await secretText(file)).trim();
  const form = {
    Action: "AssumeRoleWithWebIdentity",
    Version: "2011-06-15",
    RoleArn: role,
    RoleSessionName: env["AWS_ROLE_SESSION_NAME"] || `quorate-${clock.now()}`,
    WebIdentityToken: token,
  };
  const answer = await ask(http, env["AWS_ENDPOINT_URL_STS"] ?? `https://sts.${region}.amazonaws.com`, {
    method: "POST",
    headers: { "content-type": "application/x-www-form-urlencoded" },
    body: Buffer.from(
      Object.entries(form)
        .map(([name, value]) => `${name}=${encodePart(value)}`)
        .join("&"),
    ),
    signal,
    what: "the role of the service account (AssumeRoleWithWebIdentity)",
  });
  const xml = answer.body.toString("utf8");
  return complete(
    {
      AccessKeyId: textOf(xml, "AccessKeyId"),
      SecretAccessKey: textOf(xml, "SecretAccessKey"),
      Token: textOf(xml, "SessionToken"),
      Expiration: textOf(xml, "Expiration"),
    },
    "STS",
  );
};

const fromContainer: Source = async ({ env }, http, signal) => {
  const relative = env["AWS_CONTAINER_CREDENTIALS_RELATIVE_URI"];
  const full = env["AWS_CONTAINER_CREDENTIALS_FULL_URI"] || (relative && `http://169.254.170.2${relative}`);
  if (!full) return undefined;
  if (!URL.canParse(full) || !mayHoldToken(new URL(full)))
    throw new StoreError(
      "invalid",
      `AWS_CONTAINER_CREDENTIALS_FULL_URI ${full} is neither https nor a loopback or link-local address: the token is not sent there`,
    );
  const file = env["AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE"];
  const token = file ? (await secretText(file)).trim() : env["AWS_CONTAINER_AUTHORIZATION_TOKEN"];
  if (token !== undefined && /[\r\n]/.test(token))
    throw new StoreError("invalid", "the container authorization token has a line break in it");
  const answer = await ask(http, full, {
    method: "GET",
    headers: token ? { authorization: token } : {},
    signal,
    what: "the container's credentials",
  });
  return fromJson(answer, "the container's credential endpoint");
};

const fromInstance: Source = async ({ env }, http, signal) => {
  if (env["AWS_EC2_METADATA_DISABLED"]?.toLowerCase() === "true") return undefined;
  const origin = env["AWS_EC2_METADATA_SERVICE_ENDPOINT"] ?? IMDS;
  const idleMs = METADATA_MS;
  try {
    const session = await http.whole({
      method: "PUT",
      origin,
      path: "/latest/api/token",
      headers: { "x-aws-ec2-metadata-token-ttl-seconds": "300" },
      signal,
      idleMs,
    });
    if (session.status !== 200) return undefined;
    const headers = { "x-aws-ec2-metadata-token": session.body.toString("latin1").trim() };
    const base = "/latest/meta-data/iam/security-credentials/";
    const roles = await http.whole({ method: "GET", origin, path: base, headers, signal, idleMs });
    const role = roles.status === 200 ? roles.body.toString("utf8").split("\n")[0]?.trim() : undefined;
    if (!role) return undefined;
    const path = `${base}${encodePart(role)}`;
    return fromJson(
      await http.whole({ method: "GET", origin, path, headers, signal, idleMs }),
      "the metadata service",
    );
  } catch (error) {
    // Not on an instance: there is nobody at that address.
    if (error instanceof NetworkError) return undefined;
    throw error;
  }
};

/** https anywhere; http only where nothing leaves the machine. */
function mayHoldToken({ protocol, hostname }: URL): boolean {
  if (protocol === "https:") return true;
  return (
    protocol === "http:" &&
    (/^127\.|^localhost$|^\[::1\]$/.test(hostname) ||
      ["169.254.170.2", "169.254.170.23", "[fd00:ec2::23]"].includes(hostname))
  );
}

async function ask(
  http: HttpClient,
  url: string,
  request: {
    method: string;
    headers: Record<string, string>;
    body?: Buffer;
    signal: AbortSignal;
    what: string;
  },
): Promise<HttpAnswer> {
  const { origin, pathname, search } = new URL(url);
  const { what, ...rest } = request;
  try {
    const answer = await http.whole({ ...rest, origin, path: `${pathname}${search}` });
    if (answer.status === 200) return answer;
    const code = textOf(answer.body.toString("utf8"), "Code") ?? `HTTP status ${answer.status}`;
    throw new StoreError("denied", `${origin} refused ${what}: ${code}; check the role and its trust policy`);
  } catch (error) {
    if (!(error instanceof NetworkError)) throw error;
    throw new StoreError("unreachable", `cannot fetch ${what}: ${error.message}`, { cause: error });
  }
}

function fromJson(answer: HttpAnswer, where: string): Expiring {
  if (answer.status !== 200)
    throw new StoreError("denied", `${where} answered with HTTP status ${answer.status}; check the role`);
  let parsed: unknown;
  try {
    parsed = JSON.parse(answer.body.toString("utf8"));
  } catch {
    parsed = undefined;
  }
  return complete((parsed ?? {}) as Record<string, unknown>, where);
}

function complete(fields: Readonly<Record<string, unknown>>, where: string): Expiring {
  const text = (name: string) => (typeof fields[name] === "string" ? fields[name] : undefined);
  const [accessKeyId, secretAccessKey, expiration] = [
    text("AccessKeyId"),
    text("SecretAccessKey"),
    text("Expiration"),
  ];
  if (!accessKeyId || !secretAccessKey)
    throw new StoreError("denied", `${where} answered without credentials`);
  const expiresAt = expiration === undefined ? undefined : Date.parse(expiration);
  return {
    accessKeyId,
    secretAccessKey,
    sessionToken: text("Token"),
    expiresAt: Number.isNaN(expiresAt) ? undefined : expiresAt,
  };
}

async function secretText(file: string): Promise<string> {
  try {
    return await readFile(file, "utf8");
  } catch (error) {
    throw new StoreError("denied", `cannot read the token ${file}: ${(error as Error).message}`, {
      cause: error,
    });
  }
}
