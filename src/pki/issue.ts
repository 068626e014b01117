/**
 * The real `Pki`: ECDSA P-256 certificates made with @peculiar/x509, which is loaded when the first
 * certificate is issued; a process that only reads certificates never pays for it. Time and serial numbers
 * come from the seams, keys from WebCrypto.
 */
import { webcrypto } from "node:crypto";
import type { Clock } from "../seams/clock.ts";
import type {
  CaRequest,
  IssuedCertificate,
  LeafRequest,
  LeafSpec,
  Pki,
  Sans,
  Validity,
} from "../seams/pki.ts";
import { PkiError } from "../seams/pki.ts";
import type { Random } from "../seams/random.ts";
import { inspect } from "./inspect.ts";
import { SHORTEST_LIFE_MS, judgeCa, validity } from "./plan.ts";
import { parseSan, sameSans } from "./sans.ts";

type X509 = typeof import("./x509.ts");

const KEY = { name: "ECDSA", namedCurve: "P-256" } as const;
const SIGNATURE = { name: "ECDSA", hash: "SHA-256" } as const;
const SERIAL_BYTES = 16;
/** RFC 5280's upper bound; longer names are refused by some TLS stacks. */
const LONGEST_COMMON_NAME = 64;

export function createPki(clock: Clock, random: Random): Pki {
  return {
    issueCa: (request) => issueCa(request, clock, random),
    issueLeaf: (request) => issueLeaf(request, clock, random),
    inspect,
  };
}

async function issueCa(request: CaRequest, clock: Clock, random: Random): Promise<IssuedCertificate> {
  checkSubject("commonName", request.commonName);
  checkLife("lifeMs", request.lifeMs);
  const life = validity(clock.now(), request.lifeMs);
  const serial = serialNumber(random);
  return issuing(request.commonName, async () => {
    const x509 = await load();
    const keys = await generateKey();
    const certificate = await x509.X509CertificateGenerator.createSelfSigned({
      name: subject(x509, request.commonName),
      keys,
      serialNumber: serial,
      ...dates(life),
      signingAlgorithm: SIGNATURE,
      extensions: [
        // No intermediates: this CA signs leaves only.
        new x509.BasicConstraintsExtension(true, 0, true),
        new x509.KeyUsagesExtension(x509.KeyUsageFlags.keyCertSign | x509.KeyUsageFlags.cRLSign, true),
        await x509.SubjectKeyIdentifierExtension.create(keys.publicKey),
      ],
    });
    return issued(x509, certificate.toString("pem"), keys.privateKey, {
      ...request,
      sans: { dns: [], ips: [] },
      usages: [],
    });
  });
}

async function issueLeaf(
  { ca, leaf }: LeafRequest,
  clock: Clock,
  random: Random,
): Promise<IssuedCertificate> {
  // A name that nobody has may only dial.
  if (leaf.commonName !== "" || leaf.usages.includes("serverAuth"))
    checkSubject("leaf.commonName", leaf.commonName);
  checkLife("leaf.lifeMs", leaf.lifeMs);
  const names = checkedNames(leaf.sans);
  if (names.length === 0 && leaf.usages.includes("serverAuth")) {
    // Without names no client would accept it, and etcd would skip its check of the peer's address (R46).
    throw new PkiError("invalid-request", "leaf.sans", "a server certificate needs a name or address");
  }
  const now = clock.now();
  const authority = inspect({
    certificate: { text: ca.certificate, where: "ca.certificate" },
    key: { text: ca.key, where: "ca.key" },
  });
  const verdict = judgeCa(authority, leaf.lifeMs, now);
  if (!verdict.canIssue) throw new PkiError("invalid-request", "ca", verdict.message);
  const life = validity(now, leaf.lifeMs, authority);
  const serial = serialNumber(random);
  return issuing(leaf.commonName, async () => {
    const x509 = await load();
    const keys = await generateKey();
    const issuer = new x509.X509Certificate(ca.certificate);
    const certificate = await x509.X509CertificateGenerator.create({
      subject: subject(x509, leaf.commonName),
      issuer: issuer.subjectName,
      publicKey: keys.publicKey,
      signingKey: await importKey(x509, ca.key),
      serialNumber: serial,
      ...dates(life),
      signingAlgorithm: SIGNATURE,
      extensions: [
        new x509.BasicConstraintsExtension(false, undefined, true),
        new x509.KeyUsagesExtension(x509.KeyUsageFlags.digitalSignature, true),
        new x509.ExtendedKeyUsageExtension(leaf.usages.map((usage) => x509.ExtendedKeyUsage[usage])),
        await x509.SubjectKeyIdentifierExtension.create(keys.publicKey),
        await x509.AuthorityKeyIdentifierExtension.create(issuer.publicKey),
        ...(names.length > 0 ? [new x509.SubjectAlternativeNameExtension(names)] : []),
      ],
    });
    return issued(x509, certificate.toString("pem"), keys.privateKey, leaf);
  });
}

async function load(): Promise<X509> {
  return await import("./x509.ts");
}

/** Requests are checked before; what still fails here is the library's or WebCrypto's, told with the name. */
async function issuing<T>(commonName: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (cause) {
    throw new PkiError("issuing-failed", commonName, "could not issue the certificate", { cause });
  }
}

function generateKey(): Promise<webcrypto.CryptoKeyPair> {
  return webcrypto.subtle.generateKey(KEY, true, ["sign", "verify"]);
}

function importKey(x509: X509, pem: string): Promise<webcrypto.CryptoKey> {
  return webcrypto.subtle.importKey("pkcs8", x509.PemConverter.decodeFirst(pem), KEY, false, ["sign"]);
}

async function issued(
  x509: X509,
  pem: string,
  privateKey: webcrypto.CryptoKey,
  asked: LeafSpec,
): Promise<IssuedCertificate> {
  const certificate = `${pem.trim()}\n`;
  const pkcs8 = await webcrypto.subtle.exportKey("pkcs8", privateKey);
  const key = `${x509.PemConverter.encode(pkcs8, x509.PemConverter.PrivateKeyTag).trim()}\n`;
  // Read back: what is reported is what is in the certificate, and it names nobody but who was asked for.
  const facts = inspect({ certificate: { text: certificate, where: "the issued certificate" } });
  if ((facts.commonName ?? "") !== asked.commonName || !sameSans(facts.sans, asked.sans)) {
    throw new Error(
      `the issued certificate has the wrong subject: ${facts.commonName ?? "no common name"} ${JSON.stringify(facts.sans)}`,
    );
  }
  const { serial, fingerprint, notBefore, notAfter } = facts;
  return { certificate, key, serial, fingerprint, notBefore, notAfter };
}

/** Told to be one string: in plain text the library would look for quotes, and make another name of `a"root"`. */
function subject(x509: X509, commonName: string): InstanceType<X509["Name"]> {
  // A subject must not be empty, even where it names no user.
  return new x509.Name([
    commonName === "" ? { O: [{ utf8String: "etcd gateway" }] } : { CN: [{ utf8String: commonName }] },
  ]);
}

/** Positive and of fixed length: the top bit clear, the next set. */
function serialNumber(random: Random): string {
  const bytes = Buffer.from(random.bytes(SERIAL_BYTES));
  bytes[0] = ((bytes[0] ?? 0) & 0x3f) | 0x40;
  return bytes.toString("hex");
}

function dates({ notBefore, notAfter }: Validity): { notBefore: Date; notAfter: Date } {
  return { notBefore: new Date(notBefore), notAfter: new Date(notAfter) };
}

function checkSubject(where: string, commonName: string): void {
  if (commonName.trim() === "" || commonName.length > LONGEST_COMMON_NAME) {
    const message = `"${commonName}" must have 1 to ${LONGEST_COMMON_NAME} characters`;
    throw new PkiError("invalid-request", where, message);
  }
}

function checkLife(where: string, lifeMs: number): void {
  if (Number.isFinite(lifeMs) && lifeMs >= SHORTEST_LIFE_MS) return;
  throw new PkiError(
    "invalid-request",
    where,
    `${lifeMs} ms is shorter than the minimum lifetime of a certificate, one minute`,
  );
}

function checkedNames(sans: Sans): { type: "dns" | "ip"; value: string }[] {
  const check = (field: keyof Sans, kind: "dns" | "ip") =>
    sans[field].map((text, i) => {
      const san = parseSan(text);
      const where = `leaf.sans.${field}[${i}]`;
      if (san.kind === "invalid") throw new PkiError("invalid-request", where, `"${text}" is ${san.reason}`);
      if (san.kind !== kind) throw new PkiError("invalid-request", where, `"${text}" is not of this type`);
      return { type: kind, value: san.value };
    });
  return [...check("dns", "dns"), ...check("ips", "ip")];
}
