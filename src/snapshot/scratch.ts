/**
 * The scratch etcd that a snapshot is verified in: its directory, its command lines, and its certificates. It trusts a
 * throw-away CA, and its one client is "root", so that data with authentication on answers too (R55). The same on one
 * machine, where it is a child process, and in a Pod, where it is a container.
 */
import path from "node:path";
import { restoreArguments } from "../etcd/etcdutl.ts";
import type { TlsCredentials } from "../etcd/types.ts";
import type { Disk } from "../seams/disk.ts";
import type { Pki } from "../seams/pki.ts";

const NAME = "scratch";
const TOKEN = "quorate-verify";
const HOUR = 3_600_000;

/** Files in the scratch directory. */
export const SNAPSHOT_NAME = "snapshot.db";
const FILES = {
  data: "data",
  ca: "ca.pem",
  server: "server.pem",
  serverKey: "server-key.pem",
  root: "root.pem",
  rootKey: "root-key.pem",
} as const;

export interface Scratch {
  readonly directory: string;
  readonly clientURL: string;
  readonly peerURL: string;
}

/** The plain snapshot that is restored. */
export function snapshotFile(directory: string): string {
  return path.join(directory, SNAPSHOT_NAME);
}

/** The arguments of etcdutl: without raising the revision, which is to be compared. */
export function scratchRestore({ directory, peerURL }: Scratch, version: string): string[] {
  return restoreArguments(version, {
    snapshot: snapshotFile(directory),
    dataDir: path.join(directory, FILES.data),
    name: NAME,
    peerUrls: [peerURL],
    initialCluster: [`${NAME}=${peerURL}`],
    token: TOKEN,
  });
}

/** The arguments of etcd on what etcdutl made. */
export function scratchEtcd({ directory, clientURL, peerURL }: Scratch): string[] {
  return [
    `--name=${NAME}`,
    `--data-dir=${path.join(directory, FILES.data)}`,
    `--listen-client-urls=${clientURL}`,
    `--advertise-client-urls=${clientURL}`,
    `--listen-peer-urls=${peerURL}`,
    `--initial-advertise-peer-urls=${peerURL}`,
    `--initial-cluster=${NAME}=${peerURL}`,
    "--auto-compaction-retention=0",
    ...tlsFlags(directory),
  ];
}

/** Of an etcd with the certificates that were issued into the directory. */
export function tlsFlags(directory: string): string[] {
  return [
    `--trusted-ca-file=${path.join(directory, FILES.ca)}`,
    `--cert-file=${path.join(directory, FILES.server)}`,
    `--key-file=${path.join(directory, FILES.serverKey)}`,
    "--client-cert-auth=true",
  ];
}

/** Issues them and leaves them in the directory. */
export async function issueCertificates(
  { directory, clientURL }: Pick<Scratch, "directory" | "clientURL">,
  { pki, disk }: { readonly pki: Pki; readonly disk: Disk },
): Promise<TlsCredentials> {
  const ca = await pki.issueCa({ commonName: "quorate snapshot verify", lifeMs: 24 * HOUR });
  const host = new URL(clientURL).hostname;
  const issue = (commonName: string, server: boolean) =>
    pki.issueLeaf({
      ca,
      leaf: {
        commonName,
        sans: { dns: server ? ["localhost"] : [], ips: server ? [host] : [] },
        usages: server ? ["serverAuth", "clientAuth"] : ["clientAuth"],
        lifeMs: 24 * HOUR,
      },
    });
  const server = await issue(NAME, true);
  const root = await issue("root", false);
  const files = {
    [FILES.ca]: ca.certificate,
    [FILES.server]: server.certificate,
    [FILES.serverKey]: server.key,
    [FILES.root]: root.certificate,
    [FILES.rootKey]: root.key,
  };
  for (const [name, text] of Object.entries(files))
    await disk.write(path.join(directory, name), text, { private: true });
  return { ca: ca.certificate, cert: root.certificate, key: root.key };
}

/** Those that an earlier step has left there. */
export async function readCertificates(directory: string, disk: Disk): Promise<TlsCredentials> {
  const read = async (name: string) => {
    const text = await disk.read(path.join(directory, name));
    if (text === undefined) throw new Error(`${path.join(directory, name)} is missing: nothing was fetched`);
    return text;
  };
  return { ca: await read(FILES.ca), cert: await read(FILES.root), key: await read(FILES.rootKey) };
}

/** What an earlier attempt left; the directory itself may be a volume. */
export async function clearScratch(directory: string, disk: Disk): Promise<void> {
  for (const name of await disk.list(directory)) await disk.remove(path.join(directory, name));
}
