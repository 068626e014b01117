/** How a bucket is reached: what flags say, then what AWS's own variables and profile files say. */
import { readFile } from "node:fs/promises";
import os from "node:os";
import path from "node:path";
import { StoreError } from "../store.ts";

export type Env = Readonly<Record<string, string | undefined>>;

export interface S3Settings {
  readonly endpoint?: string | undefined;
  readonly region?: string | undefined;
  /** Undefined: with an endpoint of its own, yes. */
  readonly pathStyle?: boolean | undefined;
  /** PEM file with the authorities of the endpoint. */
  readonly caFile?: string | undefined;
  readonly profile?: string | undefined;
  readonly sse?: "AES256" | "aws:kms" | undefined;
  readonly kmsKey?: string | undefined;
}

/** Settings of the profile in use, from both of AWS's files; `credentials` wins. */
export async function readProfile(
  name: string | undefined,
  env: Env,
): Promise<Readonly<Record<string, string>>> {
  const wanted = name ?? env["AWS_PROFILE"] ?? "default";
  const home = path.join(env["HOME"] || os.homedir(), ".aws");
  const config = parseIni(await text(env["AWS_CONFIG_FILE"] ?? path.join(home, "config")));
  const credentials = parseIni(
    await text(env["AWS_SHARED_CREDENTIALS_FILE"] ?? path.join(home, "credentials")),
  );
  const found = [config.get(wanted === "default" ? "default" : `profile ${wanted}`), credentials.get(wanted)];
  if (name !== undefined && found.every((section) => section === undefined))
    throw new StoreError("invalid", `there is no profile ${name} in ~/.aws/credentials or ~/.aws/config`);
  return { ...found[0], ...found[1] };
}

async function text(file: string): Promise<string> {
  try {
    return await readFile(file, "utf8");
  } catch {
    // The files are optional; a profile that was asked for by name is missed above.
    return "";
  }
}

export function parseIni(content: string): Map<string, Readonly<Record<string, string>>> {
  const sections = new Map<string, Record<string, string>>();
  let section: Record<string, string> | undefined;
  for (const line of content.split(/\r?\n/)) {
    const name = /^\s*\[([^\]]+)\]/.exec(line)?.[1]?.trim();
    if (name !== undefined) {
      section = sections.get(name) ?? {};
      sections.set(name, section);
      continue;
    }
    const [, key, value] = /^([^\s#;=][^=]*?)\s*=\s*(.*?)\s*$/.exec(line) ?? [];
    if (section !== undefined && key !== undefined && value !== undefined) section[key] = value;
  }
  return sections;
}

export interface S3Place {
  /** Scheme, host and port that requests go to. */
  readonly origin: string;
  /** Before the key in the path: `/` or `/bucket/`. */
  readonly base: string;
  readonly region: string;
  readonly ca: string | undefined;
}

export async function resolvePlace(
  bucket: string,
  settings: S3Settings,
  profile: Readonly<Record<string, string>>,
  env: Env,
): Promise<S3Place> {
  const region =
    settings.region ?? env["AWS_REGION"] ?? env["AWS_DEFAULT_REGION"] ?? profile["region"] ?? "us-east-1";
  if (!/^[a-z0-9-]+$/.test(region))
    throw new StoreError("invalid", `${JSON.stringify(region)} is not a region of S3`);
  const given =
    settings.endpoint ?? env["AWS_ENDPOINT_URL_S3"] ?? env["AWS_ENDPOINT_URL"] ?? profile["endpoint_url"];
  if (given !== undefined && !(URL.canParse(given) && /^https?:$/.test(new URL(given).protocol)))
    throw new StoreError(
      "invalid",
      `the S3 endpoint ${given} is not a URL: use https://host or http://host:port`,
    );
  const url = new URL(given ?? `https://s3.${region}.amazonaws.com`);
  // Certificates of AWS cover one label before the host, and a bucket's name may have dots.
  const pathStyle = settings.pathStyle ?? (given !== undefined || bucket.includes("."));
  const file = settings.caFile ?? env["AWS_CA_BUNDLE"] ?? profile["ca_bundle"];
  const prefix = url.pathname === "/" ? "" : url.pathname.replace(/\/$/, "");
  return {
    origin: pathStyle ? url.origin : `${url.protocol}//${bucket}.${url.host}`,
    base: `${prefix}/${pathStyle ? `${bucket}/` : ""}`,
    region,
    ca: file === undefined ? undefined : await readCa(file),
  };
}

async function readCa(file: string): Promise<string> {
  try {
    return await readFile(file, "utf8");
  } catch (error) {
    throw new StoreError("invalid", `cannot read the CA certificates ${file}: ${(error as Error).message}`, {
      cause: error,
    });
  }
}
