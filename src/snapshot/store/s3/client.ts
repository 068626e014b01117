/** Signed requests to one bucket. */
import {
  StoreClient,
  withQuery,
  type ObjectRequest,
  type Opened,
  type StoreSurroundings,
} from "../http/client.ts";
import { encodePath, encodeQuery } from "../http/encode.ts";
import { HttpClient } from "../http/http.ts";
import { CredentialChain } from "./credentials.ts";
import { S3Failure, storeError } from "./errors.ts";
import { readProfile, resolvePlace, type S3Place, type S3Settings } from "./settings.ts";
import { EMPTY_HASH, sha256, signed, UNSIGNED_PAYLOAD } from "./sign.ts";

export interface S3Options extends StoreSurroundings {
  readonly bucket: string;
  readonly s3: S3Settings;
}

export interface S3Request extends ObjectRequest {
  /** The signature leaves the body out: TLS protects it on its way, and the store checks another sum of it. */
  readonly unsigned?: boolean;
}

export class S3Client extends StoreClient<S3Request, S3Failure> {
  readonly #place: () => Promise<Found>;

  constructor(options: S3Options) {
    let found: Promise<Found> | undefined;
    const place = () => (found ??= find(options));
    super({
      ...options,
      explain: storeError,
      failure: ({ status, headers, text }) => new S3Failure(status, headers, text),
      // Completing an upload answers 200 at once and may fail later, in the body.
      hidden: ({ headers, body }, { method }) =>
        method === "POST" && body.includes("<Error>")
          ? new S3Failure(500, headers, body.toString("utf8"))
          : undefined,
      open: async () => opened(options, await place()),
    });
    this.#place = place;
  }

  /** Whether requests go over TLS. */
  async isSecure(): Promise<boolean> {
    return (await this.#place()).place.origin.startsWith("https:");
  }
}

interface Found {
  readonly profile: Readonly<Record<string, string>>;
  readonly place: S3Place;
}

async function find({ bucket, s3, env }: S3Options): Promise<Found> {
  const profile = await readProfile(s3.profile, env);
  return { profile, place: await resolvePlace(bucket, s3, profile, env) };
}

function opened({ s3, env, clock }: S3Options, { profile, place }: Found): Opened<S3Request> {
  const { origin, base, region, ca } = place;
  const http = new HttpClient(ca);
  const explicitProfile = s3.profile !== undefined;
  const credentials = new CredentialChain({ env, profile, explicitProfile, region, clock }, http);
  return {
    http,
    prepare: async ({ method, key, query = {}, headers = {}, body, unsigned = false, signal }) => {
      const path = `${base}${encodePath(key)}`;
      const payloadHash = unsigned ? UNSIGNED_PAYLOAD : body === undefined ? EMPTY_HASH : sha256(body);
      const request = { method, host: new URL(origin).host, path, query, headers, payloadHash };
      const now = new Date(clock.now());
      return {
        method,
        origin,
        path: withQuery(path, encodeQuery(query)),
        headers: signed(request, await credentials.get(signal), { region, service: "s3", now }),
        body,
        signal,
      };
    },
  };
}
