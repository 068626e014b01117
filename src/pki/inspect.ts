/**
 * Reads a certificate back into facts: names, usages, life, who of the trust bundle signed it, and whether the
 * private key is its own. Bad input is told by file or field, never by a bare OpenSSL message; key text stays out.
 */
import { X509Certificate, createPrivateKey } from "node:crypto";
import type { CertificateFacts, InspectRequest, Pem, Sans } from "../seams/pki.ts";
import { PkiError } from "../seams/pki.ts";
import { splitBundle } from "./bundle.ts";
import { parseSan } from "./sans.ts";

const USAGE_NAMES: Readonly<Record<string, string>> = {
  "1.3.6.1.5.5.7.3.1": "serverAuth",
  "1.3.6.1.5.5.7.3.2": "clientAuth",
};

export function inspect(request: InspectRequest): CertificateFacts {
  const [certificate, ...intermediates] = readCertificates(request.certificate);
  const trust = request.trust ? readCertificates(request.trust) : [];
  const issuer = issuerOf(certificate, intermediates, trust);
  return {
    commonName: commonName(certificate),
    sans: readSans(certificate.subjectAltName ?? ""),
    usages: (certificate.keyUsage ?? []).map((oid) => USAGE_NAMES[oid] ?? oid),
    isCa: certificate.ca,
    serial: certificate.serialNumber.toLowerCase(),
    fingerprint: fingerprint(certificate),
    notBefore: certificate.validFromDate.getTime(),
    notAfter: certificate.validToDate.getTime(),
    issuedBy: issuer && fingerprint(issuer.ca),
    issuerEnds: issuer?.ends,
    keyMatches: request.key && keyMatches(certificate, request.key),
  };
}

/** The CA that it leads to, and when the chain up to it ends. Of several, the one that lasts longest. */
function issuerOf(
  leaf: X509Certificate,
  intermediates: readonly X509Certificate[],
  trust: readonly X509Certificate[],
): { readonly ca: X509Certificate; readonly ends: number } | undefined {
  const left = new Set(intermediates);
  const endOf = ({ validToDate }: X509Certificate) => validToDate.getTime();
  let [subject, ends] = [leaf, Infinity];
  for (;;) {
    const signed = (by: X509Certificate) => subject.checkIssued(by) && subject.verify(by.publicKey);
    const [ca] = trust.filter(signed).toSorted((a, b) => endOf(b) - endOf(a));
    if (ca) return { ca, ends: Math.min(ends, endOf(ca)) };
    const next = [...left].find((one) => one.ca && signed(one));
    if (!next) return undefined;
    left.delete(next);
    ends = Math.min(ends, endOf(next));
    subject = next;
  }
}

function readCertificates({ text, where }: Pem): [X509Certificate, ...X509Certificate[]] {
  const [first, ...rest] = splitBundle(text);
  if (!first) {
    const message =
      text.trim() === "" ? "is empty" : "contains no PEM certificate (no BEGIN CERTIFICATE block)";
    throw new PkiError("unreadable-certificate", where, message);
  }
  const read = (pem: string) => {
    try {
      return new X509Certificate(pem);
    } catch (cause) {
      throw new PkiError("unreadable-certificate", where, "contains a damaged certificate", { cause });
    }
  };
  return [read(first), ...rest.map(read)];
}

function keyMatches(certificate: X509Certificate, { text, where }: Pem): boolean {
  let key;
  try {
    key = createPrivateKey(text);
  } catch (cause) {
    throw new PkiError("unreadable-key", where, "contains no readable PEM private key", { cause });
  }
  return certificate.checkPrivateKey(key);
}

function fingerprint(certificate: X509Certificate): string {
  return certificate.fingerprint256.replaceAll(":", "").toLowerCase();
}

/** Go, and so etcd, takes the last of several. The plain `subject` is escaped for display; this one is not. */
function commonName(certificate: X509Certificate): string | undefined {
  const names: string | string[] | undefined = certificate.toLegacyObject().subject?.CN;
  return Array.isArray(names) ? names.at(-1) : names;
}

/** Node gives `DNS:a, IP Address:b, …`. Kinds that etcd does not look at are left out. */
function readSans(text: string): Sans {
  const dns: string[] = [];
  const ips: string[] = [];
  for (const [, kind, value = ""] of text.matchAll(/(?:^|, )(DNS|IP Address):([^,]*)/g)) {
    const san = parseSan(value);
    const spelled = san.kind === "invalid" ? value : san.value;
    (kind === "DNS" ? dns : ips).push(spelled);
  }
  return { dns: dns.sort(), ips: ips.sort() };
}
