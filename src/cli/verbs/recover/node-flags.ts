/** The flags of `quorate recover node`, and what follows from them for the etcd that is started. */
import path from "node:path";
import { IMAGE_REPOSITORY } from "../../../api/etcd-cluster-spec.ts";
import { releaseOf } from "../../../core/version/releases.ts";
import { minorOf, parseVersion } from "../../../core/version/version.ts";
import type { Serving, ServingTLS } from "../../../recovery/node/serve.ts";
import type { Flags, FLAG_GROUPS, ValuesOf } from "../../flag.ts";
import { UsageError, type CliIo } from "../../io.ts";

export const FLAGS = {
  plan: {
    kind: "text",
    value: "hash",
    help: "carry out this plan, which you have read; refused if it has changed",
  },
  manifests: {
    kind: "text",
    value: "directory",
    help: "start it as a static Pod: write its manifest there, where the kubelet looks (/etc/kubernetes/manifests)",
  },
  foreground: { kind: "switch", help: "start it as a process, until Ctrl-C" },
  "etcd-version": {
    kind: "text",
    value: "version",
    help: "etcd that the data is started with; needed for data of 3.5 and older, which does not record it",
  },
  to: {
    kind: "text",
    value: "directory",
    help: "where the new data goes, an empty directory; default: beside the old, in recovery/node-<plan>",
  },
  "listen-client": {
    kind: "text",
    value: "url",
    help: "where clients connect; https needs --cert-file and --key-file (default: http://127.0.0.1:2379)",
  },
  "listen-peer": {
    kind: "text",
    value: "url",
    help: "for members that join later (default: http://127.0.0.1:2380)",
  },
  "listen-metrics": {
    kind: "text",
    value: "url",
    help: "for health checks (default: http://127.0.0.1:2381)",
  },
  "cert-file": { kind: "text", value: "file", help: "server certificate" },
  "key-file": { kind: "text", value: "file", help: "its key" },
  "trusted-ca-file": {
    kind: "text",
    value: "file",
    help: "CA of the clients, which then need a certificate",
  },
  siblings: {
    kind: "list",
    value: "name=address",
    help: "start it as the member it was, in its own directory, with these members on their machines: demo-2=10.0.0.12",
  },
  "peer-cert-file": { kind: "text", value: "file", help: "with --siblings: certificate for its siblings" },
  "peer-key-file": { kind: "text", value: "file", help: "its key" },
  "peer-trusted-ca-file": { kind: "text", value: "file", help: "CA of its siblings' certificates" },
  "image-repository": {
    kind: "text",
    value: "name",
    help: `of the static Pod (default: ${IMAGE_REPOSITORY})`,
  },
} as const satisfies Flags;

export type NodeFlags = ValuesOf<typeof FLAGS> & ValuesOf<typeof FLAG_GROUPS.output>;

/** The newest known release of the minor that wrote the data. */
export function versionFor(asked: string | undefined, wrote: string | undefined): string {
  if (asked !== undefined) {
    if (!parseVersion(asked))
      throw new UsageError(`--etcd-version must be a release like 3.6.16, not ${asked}`);
    return asked.replace(/^v/, "");
  }
  const good = wrote === undefined ? undefined : releaseOf(minorOf(wrote))?.knownGood;
  if (good === undefined)
    throw new UsageError(
      "the data does not record which etcd wrote it, since etcd 3.5 and older do not: name the version with --etcd-version, like 3.5.35",
    );
  return good;
}

/** Where clients and health checks find it. */
export function servingOf(
  name: string,
  dataDir: string,
  flags: NodeFlags,
  io: Pick<CliIo, "cwd">,
): Omit<Serving, "peerURL"> {
  const clientURL = urlOf("listen-client", flags["listen-client"] ?? "http://127.0.0.1:2379");
  const [cert, key, ca] = (["cert-file", "key-file", "trusted-ca-file"] as const).map((flag) =>
    fileOf(io, flags[flag]),
  );
  const isSecure = clientURL.startsWith("https:");
  if (isSecure !== (cert !== undefined && key !== undefined))
    throw new UsageError(
      "--cert-file and --key-file go with --listen-client https://…: pass all of them, or none",
    );
  if (!isSecure && (ca !== undefined || !isLoopback(clientURL)))
    throw new UsageError(
      `without TLS every client that reaches ${clientURL} could read and write everything: use https with certificates, or http on 127.0.0.1`,
    );
  const tls: ServingTLS | undefined = cert !== undefined && key !== undefined ? { cert, key, ca } : undefined;
  const metricsURL = urlOf("listen-metrics", flags["listen-metrics"] ?? "http://127.0.0.1:2381");
  return { name, dataDir, clientURL, metricsURL, ...(tls && { tls }) };
}

/** Of one that starts alone. */
export function lonelyPeerURL(flags: NodeFlags): string {
  const peerURL = urlOf("listen-peer", flags["listen-peer"] ?? "http://127.0.0.1:2380");
  if (isLoopback(peerURL)) return peerURL;
  throw new UsageError(
    "--listen-peer must be on 127.0.0.1: no member can join before the cluster has a place of its own",
  );
}

/** A path as the user means it. */
export function fileOf({ cwd }: Pick<CliIo, "cwd">, value: string | undefined): string | undefined {
  return value === undefined ? undefined : path.resolve(cwd, value);
}

function urlOf(flag: string, text: string): string {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (!url || !/^https?:$/.test(url.protocol) || url.port === "")
    throw new UsageError(`--${flag} must be a URL with a port, like https://127.0.0.1:2379, not ${text}`);
  return url.origin;
}

function isLoopback(url: string): boolean {
  const { hostname } = new URL(url);
  return hostname === "localhost" || hostname === "[::1]" || hostname.startsWith("127.");
}
