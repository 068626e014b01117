/** Signature Version 4: a pure function from a request and credentials to its headers. */
import { createHash, createHmac } from "node:crypto";
import { encodeQuery } from "../http/encode.ts";

export interface Credentials {
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  readonly sessionToken?: string | undefined;
}

export interface Unsigned {
  readonly method: string;
  readonly host: string;
  /** Encoded already, see `encodePath`. */
  readonly path: string;
  readonly query: Readonly<Record<string, string>>;
  readonly headers: Readonly<Record<string, string>>;
  /** SHA-256 of the body, in hexadecimal, or `UNSIGNED_PAYLOAD`. */
  readonly payloadHash: string;
}

/** In place of the hash: the body is not part of what is signed. */
export const UNSIGNED_PAYLOAD = "UNSIGNED-PAYLOAD";

export const EMPTY_HASH = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";

export function sha256(data: Uint8Array | string): string {
  return createHash("sha256").update(data).digest("hex");
}

/** All headers of the request, the signature among them. */
export function signed(
  request: Unsigned,
  credentials: Credentials,
  { region, service, now }: { region: string; service: string; now: Date },
): Record<string, string> {
  const time = now.toISOString().replace(/\.\d+/, "").replaceAll(/[-:]/g, "");
  const headers: Record<string, string> = {
    ...request.headers,
    host: request.host,
    "x-amz-date": time,
    "x-amz-content-sha256": request.payloadHash,
    ...(credentials.sessionToken !== undefined && { "x-amz-security-token": credentials.sessionToken }),
  };
  const names = Object.keys(headers).toSorted();
  const signedNames = names.join(";");
  const canonical = [
    request.method,
    request.path,
    encodeQuery(request.query),
    ...names.map((name) => `${name}:${headers[name]?.trim().replaceAll(/ +/g, " ")}`),
    "",
    signedNames,
    request.payloadHash,
  ].join("\n");
  const scope = `${time.slice(0, 8)}/${region}/${service}/aws4_request`;
  const text = `AWS4-HMAC-SHA256\n${time}\n${scope}\n${sha256(canonical)}`;
  const key = [time.slice(0, 8), region, service, "aws4_request"].reduce<Uint8Array | string>(
    (secret, part) => createHmac("sha256", secret).update(part).digest(),
    `AWS4${credentials.secretAccessKey}`,
  );
  const signature = createHmac("sha256", key).update(text).digest("hex");
  return {
    ...headers,
    authorization: `AWS4-HMAC-SHA256 Credential=${credentials.accessKeyId}/${scope}, SignedHeaders=${signedNames}, Signature=${signature}`,
  };
}
