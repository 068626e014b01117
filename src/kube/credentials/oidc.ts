/**
 * `auth-provider: oidc`. The ID token is used until shortly before its end; then the next one is read from the
 * kubeconfig, if another program has refreshed it, or fetched from the issuer for the refresh token and written there,
 * as kubectl does: an issuer may accept each refresh token once.
 */
import type { Clock } from "../../seams/clock.ts";
import type { Disk } from "../../seams/disk.ts";
import { isFields } from "../kubeconfig/files.ts";
import { readTokens, writeTokens, type RefreshedTokens } from "../kubeconfig/oidc-user.ts";
import { KubeConfigError, type OidcLogin, type OidcTokens } from "../kubeconfig/types.ts";
import { issuerOver, RefreshError, refreshed, type AskIssuer } from "./issuer.ts";
import type { CredentialSource, Issued } from "./source.ts";

/** A request takes a moment, and clocks differ. */
const BEFORE_END_MS = 10_000;
/** An issuer that refuses must not be asked by every call. */
const ASK_AGAIN_MS = 3_000;

export interface OidcWorld {
  readonly clock: Clock;
  readonly disk: Disk;
  readonly ask?: AskIssuer;
}

export class OidcCredentials implements CredentialSource {
  readonly #login: OidcLogin;
  readonly #world: OidcWorld;
  readonly #ask: AskIssuer;
  #issued: Issued;
  #refused: Issued | undefined;
  /** One that the issuer gave in place of the one in the kubeconfig. */
  #refreshToken: { readonly instead: string; readonly is: string } | undefined;
  #refreshing: Promise<Issued> | undefined;
  #askedAt = -Infinity;
  #failure: Error | undefined;

  constructor(login: OidcLogin, world: OidcWorld) {
    this.#login = login;
    this.#world = world;
    this.#ask = world.ask ?? issuerOver(world.clock);
    this.#issued = issuedWith(login.tokens.idToken);
  }

  async current(): Promise<Issued> {
    if (this.#holds(this.#issued)) return this.#issued;
    this.#refreshing ??= this.#next().finally(() => {
      this.#refreshing = undefined;
    });
    return await this.#refreshing;
  }

  refused(used: Issued): void {
    this.#refused = used;
  }

  #holds(issued: Issued): boolean {
    if (this.#refused === issued || issued.token === undefined) return false;
    return this.#clock.now() < (issued.expiresAt ?? Infinity) - BEFORE_END_MS;
  }

  get #clock(): Clock {
    return this.#world.clock;
  }

  async #next(): Promise<Issued> {
    const { file, user } = this.#login;
    const tokens = await readTokens(this.#world.disk, file, user);
    if (tokens.idToken !== undefined && tokens.idToken !== this.#issued.token) {
      const written = issuedWith(tokens.idToken);
      if (this.#holds(written) || this.#issued.token === undefined) this.#issued = written;
    }
    // Refused before its end, and not replaced: the server's answer says more than we can.
    if (this.#holds(this.#issued) || this.#refused === this.#issued) return this.#issued;
    if (this.#clock.monotonic() - this.#askedAt < ASK_AGAIN_MS && this.#failure) throw this.#failure;
    try {
      const next = await this.#refresh(tokens);
      const issued = issuedWith(next.idToken);
      if (!this.#holds(issued))
        throw this.#problem(
          "the issuer gave a token that has expired already: check the clock of this machine",
        );
      this.#issued = issued;
      this.#failure = undefined;
      await this.#write(next);
      return issued;
    } catch (error) {
      this.#failure = error instanceof Error ? error : new Error(String(error));
      throw this.#failure;
    } finally {
      this.#askedAt = this.#clock.monotonic();
    }
  }

  async #refresh({ refreshToken, issuer, clientID, clientSecret, ca }: OidcTokens): Promise<RefreshedTokens> {
    if (refreshToken === undefined)
      throw this.#problem(`expired at ${this.#ended()}, and there is no refresh-token: log in again`);
    if (issuer === undefined || clientID === undefined)
      throw this.#problem(
        `expired at ${this.#ended()}, and cannot be refreshed without idp-issuer-url and client-id: add them, or log in again`,
      );
    const known = this.#refreshToken;
    const token = known?.instead === refreshToken ? known.is : refreshToken;
    const authority = ca === undefined || "text" in ca ? ca?.text : await this.#world.disk.read(ca.file);
    const { proxyTo } = this.#login;
    try {
      const wish = { issuer, clientID, clientSecret, refreshToken: token, ca: authority, proxyTo };
      const next = await refreshed(this.#ask, wish);
      if (next.refreshToken !== undefined)
        this.#refreshToken = { instead: refreshToken, is: next.refreshToken };
      return next;
    } catch (error) {
      if (!(error instanceof RefreshError)) throw error;
      const what = error.login
        ? "log in again, with the tool that wrote the kubeconfig"
        : "check the issuer and the way to it, then try again";
      throw this.#problem(`could not be refreshed: ${error.message}; ${what}`, { cause: error });
    }
  }

  /** This process goes on with what it has, but the next one could not: so that is told, once. */
  async #write(next: RefreshedTokens): Promise<void> {
    try {
      await writeTokens(this.#world, this.#login, next);
    } catch (error) {
      throw this.#problem(
        `was refreshed, but could not be written to the kubeconfig: ${(error as Error).message}; make it writable, or log in again`,
        { cause: error },
      );
    }
  }

  #ended(): string {
    return new Date(this.#issued.expiresAt ?? 0).toISOString();
  }

  #problem(what: string, options?: ErrorOptions): KubeConfigError {
    const { file, user } = this.#login;
    return new KubeConfigError(
      "plugin",
      `${file}: the OpenID Connect token of the user "${user}" ${what}`,
      options,
    );
  }
}

/** The token says itself until when it is valid. Whether it is genuine is for the server to tell. */
function issuedWith(token: string | undefined): Issued {
  if (token === undefined) return {};
  try {
    const claims: unknown = JSON.parse(Buffer.from(token.split(".")[1] ?? "", "base64url").toString("utf8"));
    const seconds = isFields(claims) ? claims["exp"] : undefined;
    return { token, ...(typeof seconds === "number" && { expiresAt: seconds * 1_000 }) };
  } catch {
    return { token };
  }
}
