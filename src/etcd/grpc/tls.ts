/** The TLS side of a connection: what we trust and show, and what a failed handshake means. */
import { isIP } from "node:net";
import {
  checkServerIdentity,
  createSecureContext,
  type ConnectionOptions,
  type SecureContext,
} from "node:tls";
import { RpcFailure, type Endpoint, type TlsFault } from "../../seams/etcd-transport.ts";

export interface TlsCredentials {
  /** PEM of the authorities that sign servers; several during a rotation. */
  readonly ca: string;
  /** PEM of the client's certificate chain and key, for mutual TLS. */
  readonly cert?: string;
  readonly key?: string;
}

/** The clients of one cluster ask for the same one after the other, and each costs 40 kB. */
let latest: { readonly credentials: TlsCredentials; readonly context: SecureContext } | undefined;

export function secureContext(credentials: TlsCredentials): SecureContext {
  const { ca, cert, key } = credentials;
  const known = latest?.credentials;
  if (latest && known?.ca === ca && known.cert === cert && known.key === key) return latest.context;
  const context = createSecureContext({
    ca: credentials.ca,
    minVersion: "TLSv1.2",
    ...(credentials.cert === undefined ? {} : { cert: credentials.cert }),
    ...(credentials.key === undefined ? {} : { key: credentials.key }),
  });
  latest = { credentials, context };
  return context;
}

/** Dials the URL's host and verifies the server by `serverName` where one is given. */
export function tlsOptions(endpoint: Endpoint, context: SecureContext): ConnectionOptions {
  const url = new URL(endpoint.url);
  const host = hostOf(url);
  const name = endpoint.serverName ?? host;
  return {
    host,
    port: portOf(url),
    secureContext: context,
    ALPNProtocols: ["h2"],
    // An IP address is verified as such but may not be sent as a server name (RFC 6066).
    servername: isIP(name) === 0 ? name : "",
    ...(isIP(name) !== 0 && name !== host ? { checkServerIdentity: identityOf(name) } : {}),
  };
}

function identityOf(name: string): NonNullable<ConnectionOptions["checkServerIdentity"]> {
  return (_host, certificate) => checkServerIdentity(name, certificate);
}

export function hostOf(url: URL): string {
  return url.hostname.replace(/^\[|\]$/g, "");
}

export function portOf(url: URL): number {
  return url.port === "" ? (url.protocol === "https:" ? 443 : 80) : Number(url.port);
}

const untrusted = new Set([
  "CERT_HAS_EXPIRED",
  "CERT_NOT_YET_VALID",
  "CERT_REVOKED",
  "CERT_REJECTED",
  "CERT_SIGNATURE_FAILURE",
  "CERT_UNTRUSTED",
  "DEPTH_ZERO_SELF_SIGNED_CERT",
  "ERR_TLS_CERT_ALTNAME_INVALID",
  "INVALID_CA",
  "INVALID_PURPOSE",
  "SELF_SIGNED_CERT_IN_CHAIN",
  "UNABLE_TO_GET_ISSUER_CERT",
  "UNABLE_TO_GET_ISSUER_CERT_LOCALLY",
  "UNABLE_TO_VERIFY_LEAF_SIGNATURE",
]);

/** A failed connection as a failure that says whether trust was the reason. Nothing was sent. */
export function connectFailure(error: unknown): RpcFailure {
  if (error instanceof RpcFailure) return error;
  const code = error instanceof Error && "code" in error ? String(error.code) : "";
  const message = error instanceof Error ? error.message : String(error);
  let tls: TlsFault | undefined;
  if (untrusted.has(code)) tls = "untrusted-server";
  // An alert is the server's word: it saw our certificate, or none, and did not like it.
  else if (/^ERR_SSL_.*ALERT_(BAD_CERTIFICATE|UNKNOWN_CA|CERTIFICATE)/.test(code))
    tls = "client-certificate-refused";
  const noTls =
    /WRONG_VERSION_NUMBER|PACKET_LENGTH_TOO_LONG/.test(code) || message.includes("before secure TLS");
  const hint = noTls ? " (perhaps the server does not speak TLS here)" : "";
  return new RpcFailure("UNAVAILABLE", `${message || code}${hint}`, "not-sent", {
    cause: error,
    ...(tls === undefined ? {} : { tls }),
  });
}
