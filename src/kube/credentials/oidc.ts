/**
 * The older `auth-provider: oidc`. Its token is used while it is valid. It is not refreshed here: providers that hand
 * out a refresh token once would have to be answered by writing the next one into the person's kubeconfig, which is
 * kubectl's to do. What kubectl has written is read again.
 */
import type { Clock } from "../../seams/clock.ts";
import type { Disk } from "../../seams/disk.ts";
import { isFields, readMerged, textIn } from "../kubeconfig/files.ts";
import { KubeConfigError, type OidcLogin } from "../kubeconfig/types.ts";
import type { CredentialSource, Issued } from "./source.ts";

/** A request takes a moment, and clocks differ. */
const BEFORE_END_MS = 10_000;

export class OidcCredentials implements CredentialSource {
  readonly #login: OidcLogin;
  readonly #clock: Clock;
  readonly #disk: Disk;
  #issued: Issued;
  #refused: Issued | undefined;

  constructor(login: OidcLogin, clock: Clock, disk: Disk) {
    this.#login = login;
    this.#clock = clock;
    this.#disk = disk;
    this.#issued = issuedWith(login.idToken);
  }

  async current(): Promise<Issued> {
    if (this.#holds(this.#issued)) return this.#issued;
    const token = await this.#written();
    if (token !== undefined && token !== this.#issued.token) this.#issued = issuedWith(token);
    // Refused and not replaced: the server's answer says more than we can.
    if (this.#holds(this.#issued) || this.#refused === this.#issued) return this.#issued;
    const { file, user } = this.#login;
    const ended = new Date(this.#issued.expiresAt ?? 0).toISOString();
    throw new KubeConfigError(
      "plugin",
      `${file}: the OpenID Connect token of the user "${user}" expired at ${ended}: run a kubectl command, which refreshes it in the kubeconfig, or log in again`,
    );
  }

  refused(used: Issued): void {
    this.#refused = used;
  }

  #holds(issued: Issued): boolean {
    if (this.#refused === issued) return false;
    return this.#clock.now() < (issued.expiresAt ?? Infinity) - BEFORE_END_MS;
  }

  async #written(): Promise<string | undefined> {
    const { file, user } = this.#login;
    const provider = (await readMerged(this.#disk, [file])).users.get(user)?.fields["auth-provider"];
    const config = isFields(provider) ? provider["config"] : undefined;
    return isFields(config) ? textIn(config, "id-token") : undefined;
  }
}

/** The token says itself until when it is valid. Whether it is genuine is for the server to tell. */
function issuedWith(token: string): Issued {
  try {
    const claims: unknown = JSON.parse(Buffer.from(token.split(".")[1] ?? "", "base64url").toString("utf8"));
    const seconds = isFields(claims) ? claims["exp"] : undefined;
    return { token, ...(typeof seconds === "number" && { expiresAt: seconds * 1_000 }) };
  } catch {
    return { token };
  }
}
