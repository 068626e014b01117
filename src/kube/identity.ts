/**
 * Who we are to the API server, kept current while we run: files are read again, plugins asked again. Protects from a
 * projected token that expires after an hour under a client that read it once, and from rotated certificates.
 */
import type { Clock } from "../seams/clock.ts";
import type { Disk } from "../seams/disk.ts";
import { systemPrograms, type Programs } from "../seams/programs.ts";
import { ExecCredentials } from "./credentials/exec.ts";
import { OidcCredentials } from "./credentials/oidc.ts";
import type { CredentialSource, Issued } from "./credentials/source.ts";
import { KubeConfigError, type KubeConfig, type Material } from "./kubeconfig/types.ts";

export interface Credentials {
  readonly ca: string | undefined;
  readonly cert: string | undefined;
  readonly key: string | undefined;
  readonly token: string | undefined;
}

/** The kubelet renews a projected token at 80 % of its life, which is ten minutes at the least. */
const READ_AGAIN_MS = 30_000;

export class Identity {
  readonly #config: KubeConfig;
  readonly #disk: Disk;
  readonly #clock: Clock;
  readonly #source: CredentialSource | undefined;
  /** What files, or the kubeconfig itself, say. */
  #read: Credentials | undefined;
  #readAt = 0;
  #reading: Promise<Credentials> | undefined;
  /** With what a plugin gave. */
  #known: Credentials | undefined;
  #issued: Issued | undefined;

  constructor(config: KubeConfig, disk: Disk, clock: Clock, programs: Programs = systemPrograms) {
    this.#config = config;
    this.#disk = disk;
    this.#clock = clock;
    const { exec, oidc } = config;
    if (exec !== undefined) this.#source = new ExecCredentials(exec, { clock, disk, programs });
    else if (oidc !== undefined) this.#source = new OidcCredentials(oidc, { clock, disk });
  }

  /** What is good now; the same object as long as nothing changed. */
  async credentials(): Promise<Credentials> {
    const [read, issued] = await Promise.all([this.#fromFiles(), this.#source?.current()]);
    const { cert, key, token } = issued ?? {};
    const current =
      issued === undefined
        ? read
        : { ca: read.ca, cert: cert ?? read.cert, key: key ?? read.key, token: token ?? read.token };
    if (this.#known === undefined || !equal(this.#known, current)) this.#known = current;
    this.#issued = issued;
    return this.#known;
  }

  /** The server refused `used`; whether others are there now. */
  async refused(used: Credentials): Promise<boolean> {
    if (this.#known === used) {
      this.#readAt = -Infinity;
      if (this.#issued !== undefined) this.#source?.refused(this.#issued);
    }
    return (await this.credentials()) !== used;
  }

  async #fromFiles(): Promise<Credentials> {
    const known = this.#read;
    if (known !== undefined && this.#clock.monotonic() - this.#readAt < READ_AGAIN_MS) return known;
    this.#reading ??= this.#readFiles().finally(() => {
      this.#reading = undefined;
    });
    return await this.#reading;
  }

  async #readFiles(): Promise<Credentials> {
    const { ca, cert, key, token } = this.#config;
    const known = this.#read;
    try {
      const [caText, certText, keyText, tokenText] = await Promise.all(
        [ca, cert, key, token].map((material) => this.#text(material)),
      );
      const read: Credentials = { ca: caText, cert: certText, key: keyText, token: tokenText?.trim() };
      if (known === undefined || !equal(known, read)) this.#read = read;
    } catch (error) {
      // A file that is being replaced: what we have may still be good, and the server will tell.
      if (known === undefined) throw error;
    }
    this.#readAt = this.#clock.monotonic();
    return this.#read as Credentials;
  }

  async #text(material: Material | undefined): Promise<string | undefined> {
    if (material === undefined) return undefined;
    if ("text" in material) return material.text;
    const text = await this.#disk.read(material.file);
    if (text === undefined || text.trim() === "")
      throw new KubeConfigError("incomplete", `${material.file} does not exist or is empty`);
    return text;
  }
}

function equal(a: Credentials, b: Credentials): boolean {
  return a.ca === b.ca && a.cert === b.cert && a.key === b.key && a.token === b.token;
}
