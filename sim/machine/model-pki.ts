/**
 * Certificates that are only texts: what they say is written in them, and so is who issued them. WebCrypto
 * draws its own keys and finishes in varying order, which a run that is a function of its seed cannot have.
 */
import { validity } from "../../src/pki/plan.ts";
import type { Clock } from "../../src/seams/clock.ts";
import {
  PkiError,
  type CertificateFacts,
  type IssuedCertificate,
  type Pem,
  type Pki,
  type Sans,
} from "../../src/seams/pki.ts";

interface Content {
  readonly serial: string;
  readonly commonName: string;
  readonly sans: Sans;
  readonly usages: readonly string[];
  readonly isCa: boolean;
  readonly issuer: string;
  readonly notBefore: number;
  readonly notAfter: number;
}

const BEGIN = "-----BEGIN CERTIFICATE-----\n";
const END = "\n-----END CERTIFICATE-----\n";

export class ModelPki implements Pki {
  readonly #clock: Pick<Clock, "now">;
  readonly #serials: { last: number };

  constructor(clock: Pick<Clock, "now">, serials = { last: 0 }) {
    this.#clock = clock;
    this.#serials = serials;
  }

  /** The same on another machine, which has a clock of its own. */
  on(clock: Pick<Clock, "now">): ModelPki {
    return new ModelPki(clock, this.#serials);
  }

  issueCa(request: Parameters<Pki["issueCa"]>[0]): Promise<IssuedCertificate> {
    const { commonName, lifeMs } = request;
    const rest = { commonName, sans: { dns: [], ips: [] }, usages: [], isCa: true };
    return Promise.resolve(this.#issue(rest, lifeMs, undefined));
  }

  issueLeaf({ ca, leaf }: Parameters<Pki["issueLeaf"]>[0]): Promise<IssuedCertificate> {
    const { commonName, sans, usages, lifeMs } = leaf;
    const issuer = read({ text: ca.certificate, where: "ca" });
    return Promise.resolve(this.#issue({ commonName, sans, usages, isCa: false }, lifeMs, issuer));
  }

  inspect({ certificate, key, trust }: Parameters<Pki["inspect"]>[0]): CertificateFacts {
    const content = read(certificate);
    const trusted = trust === undefined ? [] : certificatesIn(trust.text);
    const issuer = trusted.find((ca) => ca.serial === content.issuer);
    return {
      commonName: content.commonName,
      sans: content.sans,
      usages: content.usages,
      isCa: content.isCa,
      serial: content.serial,
      fingerprint: fingerprint(content),
      notBefore: content.notBefore,
      notAfter: content.notAfter,
      issuedBy: issuer && fingerprint(issuer),
      issuerEnds: issuer?.notAfter,
      keyMatches: key && key.text.includes(`key of ${content.serial}\n`),
    };
  }

  #issue(
    rest: Pick<Content, "commonName" | "sans" | "usages" | "isCa">,
    lifeMs: number,
    issuer: Content | undefined,
  ): IssuedCertificate {
    const serial = (++this.#serials.last).toString(16).padStart(8, "0");
    const { notBefore, notAfter } = validity(this.#clock.now(), lifeMs, issuer);
    const content: Content = { ...rest, serial, issuer: issuer?.serial ?? serial, notBefore, notAfter };
    return {
      certificate: `${BEGIN}${JSON.stringify(content)}${END}`,
      key: `-----BEGIN MODEL KEY-----\nkey of ${serial}\n-----END MODEL KEY-----\n`,
      serial,
      fingerprint: fingerprint(content),
      notBefore,
      notAfter,
    };
  }
}

/** Whether who reads this at `now` takes it; a text without a certificate speaks for nobody. */
export function isValidAt(text: string, now: number): boolean {
  const [leaf] = certificatesIn(text);
  return leaf !== undefined && leaf.notBefore <= now && now <= leaf.notAfter;
}

/** The serial of the CA in this bundle that issued the first certificate of a text. */
export function issuerIn(text: string, bundle: string): string | undefined {
  const [leaf] = certificatesIn(text);
  return certificatesIn(bundle).find(({ serial }) => serial === leaf?.issuer)?.serial;
}

export function fingerprintOf(text: string): string | undefined {
  const [leaf] = certificatesIn(text);
  return leaf && fingerprint(leaf);
}

function fingerprint({ serial }: Pick<Content, "serial">): string {
  return `f${serial}`;
}

/** What texts say, by text: processes of the model compare the same few certificates at every packet. */
const contents = new Map<string, readonly Content[]>();
const MOST_CONTENTS = 1_000;

/** What a bundle holds, in its order. */
export function certificatesIn(text: string): readonly Content[] {
  let found = contents.get(text);
  if (found === undefined) {
    found = text
      .split(BEGIN)
      .slice(1)
      .map((part) => JSON.parse(part.split(END)[0] ?? "") as Content);
    if (contents.size >= MOST_CONTENTS) contents.clear();
    contents.set(text, found);
  }
  return found;
}

function read({ text, where }: Pem): Content {
  try {
    const [first] = certificatesIn(text);
    if (first) return first;
  } catch {
    // Falls through.
  }
  throw new PkiError("unreadable-certificate", where, "holds no certificate of the model");
}
