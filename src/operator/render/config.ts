/**
 * Where a member's container finds what it needs, and etcd's configuration file. One Secret holds the file and
 * the certificates; it is mounted as a directory, so that the kubelet replaces its files when they change (R45).
 */
import { signingKey } from "../../core/auth/token.ts";
import { etcdConfig, isSecure } from "../../core/config/flags.ts";
import type { MemberRecord } from "../../core/record.ts";

/** Keys of a member's Secret, which are the names of its files. */
export const FILES = {
  config: "etcd.json",
  /** Certificate and key in one file, so that etcd never reads a mismatched pair. */
  serverPem: "server.pem",
  /** What the HTTP gateway of the member dials it with: without a name, so that it acts as no user (R55). */
  gatewayPem: "gateway.pem",
  peerPem: "peer.pem",
  /**
   * What the member dials its peers with. It has no names: of a certificate with names, etcd checks that one of them
   * leads to the address that the call comes from (R46), and DNS may not know a new Pod yet, or a proxy may have put
   * another address there. What is trusted is the authority, which signs for this cluster alone (H15).
   */
  peerClientPem: "peer-client.pem",
  /** Whom members trust as clients. */
  clientCA: "client-ca.crt",
  /** Whom clients trust as members, where that is somebody else. Nothing but the operator reads it. */
  serverCA: "server-ca.crt",
  peerCA: "peer-ca.crt",
} as const;

/**
 * What a member signs auth tokens with: in the Secret of the cluster that has all keys, and in that of each member, whose
 * configuration names it. With its number, so that nobody takes one key for another.
 */
export function tokenKeyFile(number: number): string {
  return `auth-token-${number}.key`;
}

export function isTokenKeyFile(file: string): boolean {
  return /^auth-token-[1-9]\d{0,8}\.key$/.test(file);
}

/** Keys of the Secret of a CA. Beside the one that signs, the other one while it is rotated, and what clients trust. */
export const CA_FILES = {
  certificate: "tls.crt",
  key: "tls.key",
  bundle: "ca.crt",
  other: "other.crt",
  otherKey: "other.key",
  /** Of each, the CAs of what members show, where somebody else has others for that. */
  servers: "servers.crt",
  otherServers: "other-servers.crt",
} as const;

const CONFIG_DIR = "/etc/etcd";
const DATA_MOUNT = "/var/lib/etcd";

export const PATHS = {
  configDir: CONFIG_DIR,
  configFile: `${CONFIG_DIR}/${FILES.config}`,
  dataMount: DATA_MOUNT,
  /** Not the mount itself: many file systems keep a lost+found there, and etcd wants its directory to itself. */
  dataDir: `${DATA_MOUNT}/data`,
} as const;

/** `established`: this life's cluster was seen to exist, so nobody starts as `new` any more (I3). */
export function configFile(record: MemberRecord, established: boolean): string {
  const known = rendered.get(record);
  if (known?.established === established) return known.text;
  const text = render(record, established);
  rendered.set(record, { established, text });
  return text;
}

/** Passes over an unchanged record share it, and its file. */
const rendered = new WeakMap<MemberRecord, { readonly established: boolean; readonly text: string }>();

function render(record: MemberRecord, established: boolean): string {
  const { tls } = record.template;
  const at = (file: string) => `${CONFIG_DIR}/${file}`;
  const key = signingKey(record.template);
  const config = etcdConfig(record, {
    established,
    // The name that the certificates of all members bear: of a CA that signs for others too, only those are peers (R49).
    peersName: new URL(record.address.clientURL).hostname.replace(/^[^.]+\./, ""),
    paths: {
      dataDir: PATHS.dataDir,
      ...(isSecure(tls, "client") && {
        serverPem: at(FILES.serverPem),
        gatewayPem: at(FILES.gatewayPem),
        clientCA: at(FILES.clientCA),
      }),
      ...(isSecure(tls, "peer") && {
        peerPem: at(FILES.peerPem),
        peerClientPem: at(FILES.peerClientPem),
        peerCA: at(FILES.peerCA),
      }),
      ...(key !== undefined && { tokenKey: at(tokenKeyFile(key)) }),
    },
  });
  return `${JSON.stringify(config, undefined, 2)}\n`;
}
