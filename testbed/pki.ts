/**
 * Certificates and keys of a testbed: one CA, a serving certificate for the API server, a key pair that signs
 * service account tokens. Clients use static tokens. All of it is made in one go and put in place by a
 * rename, so that a killed `up` leaves either everything or nothing.
 */
import "reflect-metadata";
import * as x509 from "@peculiar/x509";
import { generateKeyPairSync, randomBytes, webcrypto } from "node:crypto";
import { existsSync, mkdirSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";

const ALGORITHM = { name: "ECDSA", namedCurve: "P-256", hash: "SHA-256" };
const DAY = 86_400_000;

/** Who may talk to the API server, and as what. */
const CLIENTS: Record<string, { user: string; groups: string[] }> = {
  admin: { user: "testbed-admin", groups: ["system:masters"] },
  "kube-controller-manager": { user: "system:kube-controller-manager", groups: [] },
  "kube-scheduler": { user: "system:kube-scheduler", groups: [] },
  kubelet: { user: "testbed-kubelet", groups: ["system:masters"] },
};

export interface Pki {
  ca: string;
  caKey: string;
  serverCert: string;
  serverKey: string;
  serviceAccountKey: string;
  tokens: string;
  /** One file per client of the API server, holding its bearer token. */
  tokenOf(client: string): string;
}

export function pkiFiles(dir: string): Pki {
  return {
    ca: join(dir, "ca.crt"),
    caKey: join(dir, "ca.key"),
    serverCert: join(dir, "apiserver.crt"),
    serverKey: join(dir, "apiserver.key"),
    serviceAccountKey: join(dir, "service-account.key"),
    tokens: join(dir, "tokens.csv"),
    tokenOf: (client) => join(dir, `${client}.token`),
  };
}

export async function ensurePki(dir: string, addresses: string[]): Promise<Pki> {
  if (existsSync(dir)) return pkiFiles(dir);
  const work = `${dir}.new`;
  rmSync(work, { recursive: true, force: true });
  mkdirSync(work, { recursive: true, mode: 0o700 });
  const files = pkiFiles(work);
  const write = (path: string, text: string) => writeFileSync(path, text, { mode: 0o600 });

  const validity = { notBefore: new Date(Date.now() - DAY), notAfter: new Date(Date.now() + 3650 * DAY) };
  const caKeys = await webcrypto.subtle.generateKey(ALGORITHM, true, ["sign", "verify"]);
  const ca = await x509.X509CertificateGenerator.createSelfSigned({
    serialNumber: serial(),
    name: "CN=quorate-testbed-ca",
    ...validity,
    signingAlgorithm: ALGORITHM,
    keys: caKeys,
    extensions: [
      new x509.BasicConstraintsExtension(true, undefined, true),
      new x509.KeyUsagesExtension(x509.KeyUsageFlags.keyCertSign | x509.KeyUsageFlags.digitalSignature, true),
      await x509.SubjectKeyIdentifierExtension.create(caKeys.publicKey),
    ],
  });
  const serverKeys = await webcrypto.subtle.generateKey(ALGORITHM, true, ["sign", "verify"]);
  const server = await x509.X509CertificateGenerator.create({
    serialNumber: serial(),
    subject: "CN=kube-apiserver",
    issuer: ca.subject,
    ...validity,
    signingAlgorithm: ALGORITHM,
    publicKey: serverKeys.publicKey,
    signingKey: caKeys.privateKey,
    extensions: [
      new x509.BasicConstraintsExtension(false, undefined, true),
      new x509.KeyUsagesExtension(x509.KeyUsageFlags.digitalSignature, true),
      new x509.ExtendedKeyUsageExtension([x509.ExtendedKeyUsage.serverAuth]),
      new x509.SubjectAlternativeNameExtension([
        ...addresses.map((value) => ({ type: "ip" as const, value })),
        ...["localhost", "kubernetes", "kubernetes.default", "kubernetes.default.svc"].map((value) => ({
          type: "dns" as const,
          value,
        })),
      ]),
      await x509.AuthorityKeyIdentifierExtension.create(caKeys.publicKey),
    ],
  });

  write(files.ca, ca.toString("pem") + "\n");
  write(files.caKey, await privatePem(caKeys.privateKey));
  write(files.serverCert, server.toString("pem") + "\n");
  write(files.serverKey, await privatePem(serverKeys.privateKey));
  const accounts = generateKeyPairSync("ec", { namedCurve: "P-256" });
  write(files.serviceAccountKey, String(accounts.privateKey.export({ type: "sec1", format: "pem" })));
  const rows = Object.entries(CLIENTS).map(([client, { user, groups }]) => {
    const token = randomBytes(24).toString("base64url");
    write(files.tokenOf(client), token);
    return `${token},${user},${user},"${groups.join(",")}"`;
  });
  write(files.tokens, rows.join("\n") + "\n");
  renameSync(work, dir);
  return pkiFiles(dir);
}

function serial(): string {
  return "01" + randomBytes(8).toString("hex");
}

async function privatePem(key: webcrypto.CryptoKey): Promise<string> {
  const der = await webcrypto.subtle.exportKey("pkcs8", key);
  return x509.PemConverter.encode(der, "PRIVATE KEY") + "\n";
}
