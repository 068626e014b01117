/**
 * Who we are to the API server, read again while we run. Protects from a projected token that expires after an
 * hour under a client that read it once, and from rotated certificates.
 */
import type { Clock } from "../seams/clock.ts";
import type { Disk } from "../seams/disk.ts";
import { KubeConfigError, type KubeConfig, type Material } from "./config.ts";

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
  #known: Credentials | undefined;
  #readAt = 0;
  #reading: Promise<Credentials> | undefined;

  constructor(config: KubeConfig, disk: Disk, clock: Clock) {
    this.#config = config;
    this.#disk = disk;
    this.#clock = clock;
  }

  /** What is good now; the same object as long as nothing changed. */
  async credentials(): Promise<Credentials> {
    const known = this.#known;
    if (known !== undefined && this.#clock.monotonic() - this.#readAt < READ_AGAIN_MS) return known;
    this.#reading ??= this.#read().finally(() => {
      this.#reading = undefined;
    });
    return await this.#reading;
  }

  /** The server refused `used`; whether others are there now. */
  async refused(used: Credentials): Promise<boolean> {
    if (this.#known === used) this.#readAt = -Infinity;
    return (await this.credentials()) !== used;
  }

  async #read(): Promise<Credentials> {
    const { ca, cert, key, token } = this.#config;
    const known = this.#known;
    try {
      const [caText, certText, keyText, tokenText] = await Promise.all(
        [ca, cert, key, token].map((material) => this.#text(material)),
      );
      const read: Credentials = { ca: caText, cert: certText, key: keyText, token: tokenText?.trim() };
      if (known === undefined || !equal(known, read)) this.#known = read;
    } catch (error) {
      // A file that is being replaced: what we have may still be good, and the server will tell.
      if (known === undefined) throw error;
    }
    this.#readAt = this.#clock.monotonic();
    return this.#known as Credentials;
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
