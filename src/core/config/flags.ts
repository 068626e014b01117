/**
 * What etcd is started with: the content of its `--config-file`, for the version of the member's record.
 * A file and not flags, because it can be rewritten without a restart: once a member has joined it names
 * only itself and the state `existing`, so that an emptied directory cannot start over (I3, H3).
 */
import type { EtcdOptions, OptionsSpec } from "../../api/options.ts";
import type { TLS, TLSMode } from "../../api/tls.ts";
import { millisecondsOf } from "../../api/duration.ts";
import { bytesOf } from "../../api/quantity.ts";
import { DEFAULT_TOKEN_TTL } from "../auth/token.ts";
import { isFrom, kindOf, nanoseconds, type Value } from "./config-keys.ts";
import { renderArgs, type Unsupported } from "./extra-args.ts";
import { hasOwnGateway } from "./gateway.ts";
import { UNSUPPORTED } from "../messages/option-words.ts";
import type { InitialPeer, MemberRecord, MemberTemplate } from "../record.ts";
import { MAX_LEARNERS } from "../assess/learner-limit.ts";
import { compareVersions, version as parse } from "../version/version.ts";

export interface ConfigPaths {
  readonly dataDir: string;
  /** Certificate and key in one file: replaced in one rename, so that etcd never reads a mismatched pair (R45). */
  readonly serverPem?: string;
  /** What the HTTP gateway of a member dials it with, where that is another one than it shows clients. */
  readonly gatewayPem?: string;
  readonly peerPem?: string;
  /** What the member dials its peers with, where that is another one than it shows them. */
  readonly peerClientPem?: string;
  readonly clientCA?: string;
  readonly peerCA?: string;
  /** What tokens are signed with. */
  readonly tokenKey?: string;
}

export interface ConfigContext {
  /** The cluster of this life was seen to exist: nobody starts as `new` any more (I3). */
  readonly established: boolean;
  readonly paths: ConfigPaths;
  /** A name that is in the peer certificates of all members of this cluster, and of nobody else. */
  readonly peersName?: string;
}

type Section = Readonly<Record<string, Value>>;
/** JSON, which etcd's YAML parser reads as it is. */
export type EtcdConfig = Readonly<Record<string, Value | Section>>;

/** The whole file for one member. */
export function etcdConfig(record: MemberRecord, context: ConfigContext): EtcdConfig {
  const { version, options, tls } = record.template;
  const { address } = record;
  const args = renderArgs(options.extraArgs, options.featureGates, version);
  return {
    // Defaults that 3.4 does not have of itself, or not with a file; a user may change them.
    "pre-vote": true,
    "enable-grpc-gateway": true,
    ...args.keys,
    name: record.name,
    "data-dir": context.paths.dataDir,
    ...bootKeys(record, context.established),
    "initial-advertise-peer-urls": peerURLOf(record),
    "listen-peer-urls": withScheme(address.listenPeerURL, peerScheme(tls) === "https"),
    "listen-client-urls": clientSchemes(tls)
      .map((scheme) => withScheme(address.listenClientURL, scheme === "https"))
      .join(","),
    "advertise-client-urls": clientURLOf(record),
    "listen-metrics-urls": address.listenMetricsURL,
    ...tlsKeys(record.template, context),
    ...tokenKeys(record.template, context.paths),
    ...safetyKeys(version),
    ...optionKeys(options, version),
    ...checkKeys(options, version),
    ...gateKeys(options, args.gates, version),
  };
}

/**
 * A member that has joined starts only with its own data (H3, I4). A joiner gets the list of the moment it
 * may start (H7). A founder starts as `new` only until the cluster was seen to exist; one that comes late
 * finds its place with `existing`, since the first members' IDs follow from the plan (R5). One that starts from
 * a snapshot never is `new`: without the restored data it would begin an empty cluster in its place.
 */
function bootKeys(record: MemberRecord, established: boolean): Section {
  const self: InitialPeer = { name: record.name, peerURL: peerURLOf(record) };
  const peers = record.joined ? [self] : record.initialCluster;
  const isNew = record.boot === "New" && !record.joined && !established && record.restore === undefined;
  return {
    "initial-cluster": peers.map((peer) => `${peer.name}=${peer.peerURL}`).join(","),
    "initial-cluster-state": isNew ? "new" : "existing",
    "initial-cluster-token": record.token,
  };
}

/** What keeps the cluster safe, or what others read. Never from extraArgs. */
function safetyKeys(version: string): Section {
  return {
    "strict-reconfig-check": true, // R19
    // H1: one constant on every member from its first boot. v2-deprecation keeps the default of each minor:
    // 3.5 warns of v2 data, 3.6 refuses it, and the first member to be upgraded shows it (R12).
    ...(isFrom(version, "3.6") ? { "max-learners": MAX_LEARNERS } : {}),
    logger: "zap",
    "log-outputs": ["stderr"],
  };
}

function optionKeys(options: EtcdOptions, version: string): Section {
  const { autoCompaction, snapshotCount, maxRequestBytes, maxTxnOps, maxConcurrentStreams } = options;
  const streams = kindOf("max-concurrent-streams", version) ? maxConcurrentStreams : undefined;
  return {
    "quota-backend-bytes": bytesOf(options.quotaBackendBytes),
    "auto-compaction-mode": autoCompaction.mode.toLowerCase(),
    "auto-compaction-retention": String(autoCompaction.retention),
    // Whole milliseconds; rounded apart, so that etcd's demand of five heartbeats is still met.
    "heartbeat-interval": Math.floor(millisecondsOf(options.heartbeatInterval)),
    "election-timeout": Math.ceil(millisecondsOf(options.electionTimeout)),
    ...(snapshotCount === undefined ? {} : { "snapshot-count": snapshotCount }),
    ...(maxRequestBytes === undefined ? {} : { "max-request-bytes": bytesOf(maxRequestBytes) }),
    ...(maxTxnOps === undefined ? {} : { "max-txn-ops": maxTxnOps }),
    ...(streams === undefined ? {} : { "max-concurrent-streams": streams }),
    metrics: options.metrics.toLowerCase(),
    "log-level": options.logLevel.toLowerCase(),
  };
}

/** R30: the periods of etcd's own checks, and up to 3.5 their switches; from 3.6 on those are gates. */
function checkKeys({ corruptCheck }: EtcdOptions, version: string): Section {
  const prefix = isFrom(version, "3.6") ? "" : "experimental-";
  const time = nanoseconds(millisecondsOf(corruptCheck.time));
  const hashTime = `${prefix}compact-hash-check-time`;
  const hashes = corruptCheck.compactHash && kindOf(hashTime, version) !== undefined;
  return {
    ...(time > 0 ? { [`${prefix}corrupt-check-time`]: time } : {}),
    ...(hashes ? { [hashTime]: nanoseconds(millisecondsOf(corruptCheck.compactHashTime)) } : {}),
    ...(prefix ? { "experimental-initial-corrupt-check": corruptCheck.initial } : {}),
    ...(prefix && hashes ? { "experimental-compact-hash-check-enabled": true } : {}),
  };
}

function gateKeys(
  { corruptCheck }: EtcdOptions,
  given: Readonly<Record<string, boolean>>,
  version: string,
): Section {
  if (!isFrom(version, "3.6")) return {};
  const gates = {
    ...given,
    CompactHashCheck: corruptCheck.compactHash,
    InitialCorruptCheck: corruptCheck.initial,
  };
  const texts = Object.entries(gates).map(([gate, on]) => `${gate}=${on}`);
  return { "feature-gates": texts.toSorted().join(",") };
}

/** One file serves as certificate and key. Peers always show certificates to each other. */
function tlsKeys(
  template: MemberTemplate,
  { paths, peersName }: ConfigContext,
): Readonly<Record<string, Section>> {
  const { tls, version } = template;
  const client = () => {
    const pem = needed(paths, "serverPem");
    const gateway = hasOwnGateway(template) ? paths.gatewayPem : undefined;
    // A CA here makes etcd demand client certificates, so without clientAuth there is none.
    return tls.clientAuth === "Required"
      ? section(pem, {
          ...(gateway !== undefined && { "client-cert-file": gateway, "client-key-file": gateway }),
          "client-cert-auth": true,
          "trusted-ca-file": needed(paths, "clientCA"),
        })
      : section(pem, {});
  };
  // 3.4 has no such keys.
  const dials = isFrom(version, "3.5") ? paths.peerClientPem : undefined;
  // R49: a CA of somebody else's may sign for others as well. The file of older versions has no such key.
  const isShared = isGiven(tls, "peer") && allowsHostnames(version);
  const peer = () =>
    section(needed(paths, "peerPem"), {
      ...(isShared && peersName !== undefined && { "allowed-hostname": [peersName] }),
      ...(dials !== undefined && { "client-cert-file": dials, "client-key-file": dials }),
      "client-cert-auth": true,
      "trusted-ca-file": needed(paths, "peerCA"),
    });
  return {
    ...(isSecure(tls, "client") ? { "client-transport-security": client() } : {}),
    ...(isSecure(tls, "peer") ? { "peer-transport-security": peer() } : {}),
  };
}

/**
 * R41, R53. Every member signs and checks, so each has the whole key: a pair of keys would protect nothing more, and
 * checking its signatures costs etcd twice as much. The file names where the key is, never what it is.
 */
function tokenKeys({ auth }: MemberTemplate, paths: ConfigPaths): Section {
  if (!auth) return {};
  const { type, ttl = DEFAULT_TOKEN_TTL } = auth.token;
  const seconds = Math.floor(millisecondsOf(ttl) / 1000);
  if (type === "Simple") return { "auth-token-ttl": seconds };
  return { "auth-token": `jwt,priv-key=${needed(paths, "tokenKey")},sign-method=HS256,ttl=${seconds}s` };
}

/** R47: whether the peers of a member can be told by a name beside their CA. */
export function allowsHostnames(version: string): boolean {
  return compareVersions(parse(version), parse("3.5.15")) >= 0;
}

function section(pem: string, more: Section): Section {
  return { "cert-file": pem, "key-file": pem, ...more };
}

function needed(
  paths: ConfigPaths,
  name: "serverPem" | "peerPem" | "clientCA" | "peerCA" | "tokenKey",
): string {
  const path = paths[name];
  if (path === undefined)
    throw new RangeError(`paths.${name} was not given, and the configuration names it: make the file first`);
  return path;
}

/** The TLS mode of a plane: its own, or else the mode for both. */
export function modeOf(tls: TLS, plane: "client" | "peer"): TLSMode {
  return tls[plane]?.mode ?? tls.mode;
}

/** The modes of a plane: the one that the spec asks for, and those that somebody still runs with. */
export function modesInUse(
  plane: "client" | "peer",
  asked: TLS,
  records: readonly Pick<MemberRecord, "template">[],
): readonly TLSMode[] {
  return [asked, ...records.map(({ template }) => template.tls)].map((tls) => modeOf(tls, plane));
}

/** Whether a plane is encrypted. */
export function isSecure(tls: TLS, plane: "client" | "peer"): boolean {
  return modeOf(tls, plane) !== "Disabled";
}

/** Whether somebody else makes the certificates of a plane. */
export function isGiven(tls: TLS, plane: "client" | "peer"): boolean {
  const mode = modeOf(tls, plane);
  return mode === "Secrets" || mode === "CertManager";
}

/** By which schemes clients can come. */
export function clientSchemes(tls: MemberTemplate["tls"]): readonly ("http" | "https")[] {
  return tls.effective?.client?.listen ?? [isSecure(tls, "client") ? "https" : "http"];
}

/** By which scheme this member tells clients to come. */
export function clientScheme(tls: MemberTemplate["tls"]): "http" | "https" {
  return tls.effective?.client?.advertise ?? clientSchemes(tls)[0] ?? "https";
}

/** Where clients reach this member. Its scheme follows the template, since client URLs change by restart (R9). */
export function clientURLOf({ address, template }: Pick<MemberRecord, "address" | "template">): string {
  return withScheme(address.clientURL, clientScheme(template.tls) === "https");
}

/** Where it shows its certificate to clients; undefined where it has none. */
export function secureClientURLOf({
  address,
  template,
}: Pick<MemberRecord, "address" | "template">): string | undefined {
  return isSecure(template.tls, "client") ? withScheme(address.clientURL, true) : undefined;
}

/** By which scheme this member listens for its peers. With certificates it can dial others by both (R52). */
export function peerScheme(tls: MemberTemplate["tls"]): "http" | "https" {
  return tls.effective?.peer?.listen ?? (isSecure(tls, "peer") ? "https" : "http");
}

/** Whether its certificate of a plane can be seen by whoever connects to it. */
export function showsCertificate(tls: MemberTemplate["tls"], plane: "client" | "peer"): boolean {
  return plane === "client" ? isSecure(tls, plane) : peerScheme(tls) === "https";
}

/** Where its peers are to reach this member: etcd's list says the same once MemberUpdate has told it (R9). */
export function peerURLOf({ address, template }: Pick<MemberRecord, "address" | "template">): string {
  return withScheme(address.peerURL, peerScheme(template.tls) === "https");
}

/** Whether two peer URLs are those of one member: its scheme may change, where it is never does. */
export function isSamePeer(a: string, b: string): boolean {
  return a === b || withScheme(a, true) === withScheme(b, true);
}

function withScheme(url: string, secure: boolean): string {
  return url.replace(/^https?:/, secure ? "https:" : "http:");
}

/** What of these options etcd of this version cannot take. Nothing is dropped without being listed here. */
export function unsupportedOptions(options: OptionsSpec, version: string): readonly Unsupported[] {
  const { corruptCheck, maxConcurrentStreams } = options;
  const found: Unsupported[] = [];
  if (maxConcurrentStreams !== undefined && !kindOf("max-concurrent-streams", version)) {
    found.push({
      field: "options.maxConcurrentStreams",
      reason: UNSUPPORTED.streamLimit(version),
    });
  }
  const hashKey = isFrom(version, "3.6") ? "compact-hash-check-time" : "experimental-compact-hash-check-time";
  if (corruptCheck.compactHash) {
    const time = millisecondsOf(corruptCheck.compactHashTime);
    const field = "options.corruptCheck.compactHashTime";
    if (time === 0)
      found.push({
        field,
        reason: UNSUPPORTED.noTime,
      });
    else if (time !== DEFAULT_COMPACT_HASH_MS && !kindOf(hashKey, version))
      found.push({ field, reason: UNSUPPORTED.compactHash(version) });
  }
  return [...found, ...renderArgs(options.extraArgs, options.featureGates, version).unsupported];
}

const DEFAULT_COMPACT_HASH_MS = 60_000;
