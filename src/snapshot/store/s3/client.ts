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
import { readProfile, resolvePlace, type S3Settings } from "./settings.ts";
import { EMPTY_HASH, sha256, signed } from "./sign.ts";

export interface S3Options extends StoreSurroundings {
  readonly bucket: string;
  readonly s3: S3Settings;
}

export class S3Client extends StoreClient<ObjectRequest, S3Failure> {
  constructor(options: S3Options) {
    super({
      ...options,
      explain: storeError,
      failure: ({ status, headers, text }) => new S3Failure(status, headers, text),
      // Completing an upload answers 200 at once and may fail later, in the body.
      hidden: ({ headers, body }, { method }) =>
        method === "POST" && body.includes("<Error>")
          ? new S3Failure(500, headers, body.toString("utf8"))
          : undefined,
      open: async () => await opened(options),
    });
  }
}

async function opened({ bucket, s3, env, clock }: S3Options): Promise<Opened<ObjectRequest>> {
  const profile = await readProfile(s3.profile, env);
  const { origin, base, region, ca } = await resolvePlace(bucket, s3, profile, env);
  const http = new HttpClient(ca);
  const explicitProfile = s3.profile !== undefined;
  const credentials = new CredentialChain({ env, profile, explicitProfile, region, clock }, http);
  return {
    http,
    prepare: async ({ method, key, query = {}, headers = {}, body, signal }) => {
      const path = `${base}${encodePath(key)}`;
      const payloadHash = body === undefined ? EMPTY_HASH : sha256(body);
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
