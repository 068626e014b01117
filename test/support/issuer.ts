/**
 * A stand-in for an issuer of OpenID Connect tokens: discovery, and a token endpoint that takes each refresh token once.
 */
import { serveTls, type TlsServer } from "./tls-server.ts";

export interface Issuer extends TlsServer {
  /** The refresh token that is good now. */
  readonly refreshToken: () => string;
}

/** `idToken` is what it gives for a refresh token. */
export async function issuerOf(idToken: () => Promise<string>): Promise<Issuer> {
  let given = 0;
  const refreshToken = () => `refresh-${given}`;
  const server: TlsServer = await serveTls(async (path, body) => {
    if (path === "/.well-known/openid-configuration")
      return { status: 200, body: { issuer: server.url, token_endpoint: `${server.url}/token` } };
    if (path !== "/token") return { status: 404, body: {} };
    if (new URLSearchParams(body).get("refresh_token") !== refreshToken())
      return { status: 400, body: { error: "invalid_grant", error_description: "used already" } };
    given++;
    return { status: 200, body: { id_token: await idToken(), refresh_token: refreshToken() } };
  });
  return { ...server, refreshToken };
}
