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
  "kube-proxy": { user: "system:kube-proxy", groups: [] },
  dns: { user: "testbed-dns", groups: ["system:masters"] },
  storage: { user: "testbed-storage", groups: ["system:masters"] },
};

/** A node of Kubernetes: it serves under a certificate of its own, and is a client with rights of its own. */
export interface PkiNode {
  name: string;
  address: string;
}

export interface Pki {
  ca: string;
  caKey: string;
  serverCert: string;
  serverKey: string;
  /** By which the API server talks to kubelets. */
  kubeletClientCert: string;
  kubeletClientKey: string;
  serviceAccountKey: string;
  tokens: string;
  /** One file per client of the API server, holding its bearer token. */
  tokenOf(client: string): string;
  certOf(node: string): string;
  keyOf(node: string): string;
}

export function pkiFiles(dir: string): Pki {
  return {
    ca: join(dir, "ca.crt"),
    caKey: join(dir, "ca.key"),
    serverCert: join(dir, "apiserver.crt"),
    serverKey: join(dir, "apiserver.key"),
    kubeletClientCert: join(dir, "kubelet-client.crt"),
    kubeletClientKey: join(dir, "kubelet-client.key"),
    serviceAccountKey: join(dir, "service-account.key"),
    tokens: join(dir, "tokens.csv"),
    tokenOf: (client) => join(dir, `${client}.token`),
    certOf: (node) => join(dir, `${node}.crt`),
    keyOf: (node) => join(dir, `${node}.key`),
  };
}

export async function ensurePki(dir: string, addresses: string[], nodes: PkiNode[] = []): Promise<Pki> {
  if (existsSync(dir)) return pkiFiles(dir);
  const work = `${dir}.new`;
  rmSync(work, { recursive: true, force: true });
  mkdirSync(work, { recursive: true, mode: 0o700 });
  const files = pkiFiles(work);
  const write = (path: string, text: string) => writeFileSync(path, text, { mode: 0o600 });

  const ca = await makeAuthority();
  write(files.ca, ca.certificate.toString("pem") + "\n");
  write(files.caKey, await privatePem(ca.keys.privateKey));
  const issue = async (certPath: string, keyPath: string, wanted: Leaf) => {
    const { certificate, key } = await makeLeaf(ca, wanted);
    write(certPath, certificate);
    write(keyPath, key);
  };
  const names = ["kubernetes", "kubernetes.default", "kubernetes.default.svc"];
  await issue(files.serverCert, files.serverKey, {
    subject: "CN=kube-apiserver",
    usage: x509.ExtendedKeyUsage.serverAuth,
    addresses,
    names: ["localhost", ...names, "kubernetes.default.svc.cluster.local"],
  });
  await issue(files.kubeletClientCert, files.kubeletClientKey, {
    subject: "CN=kube-apiserver-kubelet-client,O=system:masters",
    usage: x509.ExtendedKeyUsage.clientAuth,
    addresses: [],
    names: [],
  });
  for (const { name, address } of nodes) {
    await issue(files.certOf(name), files.keyOf(name), {
      subject: `CN=${name}`,
      usage: x509.ExtendedKeyUsage.serverAuth,
      addresses: [address],
      names: [name],
    });
  }
  const accounts = generateKeyPairSync("ec", { namedCurve: "P-256" });
  write(files.serviceAccountKey, String(accounts.privateKey.export({ type: "sec1", format: "pem" })));
  const clients = { ...CLIENTS };
  for (const { name } of nodes) clients[name] = { user: `system:node:${name}`, groups: ["system:nodes"] };
  const rows = Object.entries(clients).map(([client, { user, groups }]) => {
    const token = randomBytes(24).toString("base64url");
    write(files.tokenOf(client), token);
    return `${token},${user},${user},"${groups.join(",")}"`;
  });
  write(files.tokens, rows.join("\n") + "\n");
  renameSync(work, dir);
  return pkiFiles(dir);
}

interface Authority {
  certificate: x509.X509Certificate;
  keys: webcrypto.CryptoKeyPair;
}

interface Leaf {
  subject: string;
  usage: x509.ExtendedKeyUsage;
  addresses: string[];
  names: string[];
}

function validity() {
  return { notBefore: new Date(Date.now() - DAY), notAfter: new Date(Date.now() + 3650 * DAY) };
}

async function makeAuthority(): Promise<Authority> {
  const keys = await webcrypto.subtle.generateKey(ALGORITHM, true, ["sign", "verify"]);
  const certificate = await x509.X509CertificateGenerator.createSelfSigned({
    serialNumber: serial(),
    name: "CN=quorate-testbed-ca",
    ...validity(),
    signingAlgorithm: ALGORITHM,
    keys,
    extensions: [
      new x509.BasicConstraintsExtension(true, undefined, true),
      new x509.KeyUsagesExtension(x509.KeyUsageFlags.keyCertSign | x509.KeyUsageFlags.digitalSignature, true),
      await x509.SubjectKeyIdentifierExtension.create(keys.publicKey),
    ],
  });
  return { certificate, keys };
}

async function makeLeaf(ca: Authority, wanted: Leaf): Promise<{ certificate: string; key: string }> {
  const keys = await webcrypto.subtle.generateKey(ALGORITHM, true, ["sign", "verify"]);
  const alternatives = [
    ...wanted.addresses.map((value) => ({ type: "ip" as const, value })),
    ...wanted.names.map((value) => ({ type: "dns" as const, value })),
  ];
  const certificate = await x509.X509CertificateGenerator.create({
    serialNumber: serial(),
    subject: wanted.subject,
    issuer: ca.certificate.subject,
    ...validity(),
    signingAlgorithm: ALGORITHM,
    publicKey: keys.publicKey,
    signingKey: ca.keys.privateKey,
    extensions: [
      new x509.BasicConstraintsExtension(false, undefined, true),
      new x509.KeyUsagesExtension(x509.KeyUsageFlags.digitalSignature, true),
      new x509.ExtendedKeyUsageExtension([wanted.usage]),
      ...(alternatives.length > 0 ? [new x509.SubjectAlternativeNameExtension(alternatives)] : []),
      await x509.AuthorityKeyIdentifierExtension.create(ca.keys.publicKey),
    ],
  });
  return { certificate: certificate.toString("pem") + "\n", key: await privatePem(keys.privateKey) };
}

function serial(): string {
  return "01" + randomBytes(8).toString("hex");
}

async function privatePem(key: webcrypto.CryptoKey): Promise<string> {
  const der = await webcrypto.subtle.exportKey("pkcs8", key);
  return x509.PemConverter.encode(der, "PRIVATE KEY") + "\n";
}
