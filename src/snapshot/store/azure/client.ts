/** Requests to one container, with the key, the signature or a token of the account. */
import { createHash } from "node:crypto";
import {
  StoreClient,
  withQuery,
  type ObjectRequest,
  type Opened,
  type StoreSurroundings,
} from "../http/client.ts";
import { encodePath, encodeQuery } from "../http/encode.ts";
import { HttpClient, type HttpRequest } from "../http/http.ts";
import { Renewed } from "../http/renewed.ts";
import type { AccessToken } from "../http/token.ts";
import { AzureFailure, storeError } from "./errors.ts";
import { findToken } from "./identity.ts";
import { resolvePlace, type AzurePlace, type AzureSettings } from "./settings.ts";
import { sharedKey } from "./sign.ts";

export interface AzureOptions extends StoreSurroundings {
  readonly container: string;
  readonly azure: AzureSettings;
}

const API_VERSION = "2021-12-02";

export class AzureClient extends StoreClient<ObjectRequest, AzureFailure> {
  constructor(options: AzureOptions) {
    super({
      ...options,
      explain: storeError,
      failure: ({ status, headers, text }) => new AzureFailure(status, headers, text),
      open: async () => await opened(options),
    });
  }
}

async function opened(options: AzureOptions): Promise<Opened<ObjectRequest>> {
  const { azure, env, clock } = options;
  const place = await resolvePlace(azure, env);
  const tokens = HttpClient.forTokens(place.ca);
  const token = new Renewed(clock, async (signal) => await findToken(env, clock, tokens, signal));
  return {
    http: new HttpClient(place.ca),
    prepare: async (request) => await prepared(options, place, token, request),
  };
}

async function prepared(
  { container, clock }: AzureOptions,
  place: AzurePlace,
  token: Renewed<AccessToken>,
  request: ObjectRequest,
): Promise<HttpRequest> {
  const { method, key, body, signal } = request;
  const path = `${place.base}${container}${key === "" ? "" : `/${encodePath(key)}`}`;
  const query = { ...request.query, ...place.sas };
  const headers: Record<string, string> = {
    "x-ms-date": new Date(clock.now()).toUTCString(),
    "x-ms-version": API_VERSION,
    ...request.headers,
    // The store checks it against what came.
    ...(body !== undefined && {
      "content-md5": createHash("md5").update(body).digest("base64"),
      "content-type": "application/octet-stream",
    }),
  };
  if (place.key !== undefined)
    headers["authorization"] = sharedKey(
      { method, path, query, headers, length: body?.length ?? 0 },
      place.account,
      place.key,
    );
  else if (place.sas === undefined) headers["authorization"] = `Bearer ${(await token.get(signal)).token}`;
  return { method, origin: place.origin, path: withQuery(path, encodeQuery(query)), headers, body, signal };
}
