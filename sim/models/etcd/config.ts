/**
 * etcd's configuration as its binary understands it: the text of a `--config-file`, read per version.
 * As with the real one, keys it does not know are passed over in silence, and values of a wrong kind,
 * unknown gates and numbers out of range end the start.
 */
import { parse } from "yaml";
import { minorNumber } from "../../../src/core/version/version.ts";

export interface ServerConfig {
  readonly name: string;
  readonly dataDir: string;
  readonly listenPeerURLs: readonly string[];
  readonly listenClientURLs: readonly string[];
  readonly peerURLs: readonly string[];
  readonly clientURLs: readonly string[];
  readonly state: "new" | "existing";
  readonly initialCluster: readonly { readonly name: string; readonly peerURL: string }[];
  readonly token: string;
  readonly maxLearners: number;
  readonly quotaBytes: number;
  readonly strictReconfig: boolean;
  readonly forceNewCluster: boolean;
  readonly initialCorruptCheck: boolean;
  readonly compactHashCheck: boolean;
  readonly snapshotCount: number;
  readonly electionMs: number;
  /** It has certificates to dial peers with; to a listener in plaintext they say nothing (R52). */
  readonly dialsTLS: boolean;
}

/** A start that ends in "failed to verify flags". */
export class BadConfig extends Error {
  override name = "BadConfig";
}

const GATES: Readonly<Record<string, number>> = {
  InitialCorruptCheck: 3006,
  CompactHashCheck: 3006,
  LeaseCheckpoint: 3006,
  LeaseCheckpointPersist: 3006,
  SetMemberLocalAddr: 3006,
  StopGRPCServiceOnDefrag: 3006,
  TxnModeWriteWithSharedBuffer: 3006,
  FastLeaseKeepAlive: 3007,
  PriorityRequest: 3007,
};

type Kind = "number" | "boolean" | "string" | "nanoseconds";

/** Keys whose kind the model checks, with the minors that know them. */
const KINDS: Readonly<Record<string, readonly [kind: Kind, from: number, to: number]>> = {
  "snapshot-count": ["number", 0, 9999],
  "heartbeat-interval": ["number", 0, 9999],
  "election-timeout": ["number", 0, 9999],
  "quota-backend-bytes": ["number", 0, 9999],
  "max-request-bytes": ["number", 0, 9999],
  "max-txn-ops": ["number", 0, 9999],
  "max-learners": ["number", 3006, 9999],
  "snapshot-catchup-entries": ["number", 3006, 9999],
  "strict-reconfig-check": ["boolean", 0, 9999],
  "pre-vote": ["boolean", 0, 9999],
  "experimental-initial-corrupt-check": ["boolean", 0, 3006],
  "experimental-compact-hash-check-enabled": ["boolean", 3005, 3006],
  "experimental-compact-hash-check-time": ["nanoseconds", 3005, 3006],
  "compact-hash-check-time": ["nanoseconds", 3006, 9999],
  "corrupt-check-time": ["nanoseconds", 3006, 9999],
  "experimental-corrupt-check-time": ["nanoseconds", 0, 3006],
  "auto-compaction-mode": ["string", 0, 9999],
  "auto-compaction-retention": ["string", 0, 9999],
};

const cache = new Map<string, ServerConfig>();

export function readConfig(text: string, version: string): ServerConfig {
  const key = `${version}\n${text}`;
  let config = cache.get(key);
  if (config === undefined) {
    config = interpret(text, minorNumber(version));
    if (cache.size > 5_000) cache.clear();
    cache.set(key, config);
  }
  return config;
}

function interpret(text: string, minor: number): ServerConfig {
  let raw: Record<string, unknown>;
  try {
    raw = (parse(text) ?? {}) as Record<string, unknown>;
  } catch (error) {
    throw new BadConfig(`error converting YAML to JSON: ${String(error)}`);
  }
  for (const [key, value] of Object.entries(raw)) checkKind(key, value, minor);
  const gates = featureGates(raw["feature-gates"], minor);
  const electionMs = number(raw["election-timeout"], 1000);
  const heartbeatMs = number(raw["heartbeat-interval"], 100);
  if (heartbeatMs <= 0) throw new BadConfig(`--heartbeat-interval must be >0 (set to ${heartbeatMs}ms)`);
  if (electionMs > 50_000) {
    throw new BadConfig(
      `--election-timeout[${electionMs}ms] is too long, and should be set less than 50000ms`,
    );
  }
  if (5 * heartbeatMs > electionMs) {
    throw new BadConfig(`--election-timeout[${electionMs}ms] should be at least as 5 times as heartbeat`);
  }
  const mode = raw["auto-compaction-mode"] ?? "periodic";
  if (mode !== "periodic" && mode !== "revision" && mode !== "") {
    throw new BadConfig(`unknown auto-compaction-mode ${JSON.stringify(mode)}`);
  }
  for (const key of ["tls-min-version", "tls-max-version"]) {
    const wanted = raw[key] ?? "";
    if (!["", "TLS1.2", "TLS1.3"].includes(String(wanted))) {
      throw new BadConfig(
        `unexpected TLS version ${JSON.stringify(wanted)} (must be one of: TLS1.2, TLS1.3)`,
      );
    }
  }
  if (/priv-key=(,|$)/.test(string(raw["auth-token"], "")))
    throw new BadConfig("failed to create token provider: open : no such file or directory");
  const name = string(raw["name"], "default");
  return {
    name,
    dataDir: string(raw["data-dir"], `${name}.etcd`),
    listenPeerURLs: urls(raw["listen-peer-urls"]),
    listenClientURLs: urls(raw["listen-client-urls"]),
    peerURLs: urls(raw["initial-advertise-peer-urls"] ?? raw["listen-peer-urls"]),
    clientURLs: urls(raw["advertise-client-urls"] ?? raw["listen-client-urls"]),
    state: raw["initial-cluster-state"] === "existing" ? "existing" : "new",
    initialCluster: urls(raw["initial-cluster"]).map((pair) => {
      const cut = pair.indexOf("=");
      return { name: pair.slice(0, cut), peerURL: pair.slice(cut + 1) };
    }),
    token: string(raw["initial-cluster-token"], "etcd-cluster"),
    // Fixed up to 3.5, whatever is asked for (R17).
    maxLearners: minor >= 3006 ? number(raw["max-learners"], 1) : 1,
    quotaBytes: number(raw["quota-backend-bytes"], 0) || 2 * 1024 ** 3,
    strictReconfig: raw["strict-reconfig-check"] !== false,
    forceNewCluster: raw["force-new-cluster"] === true,
    initialCorruptCheck:
      gates.get("InitialCorruptCheck") ??
      (minor <= 3006 && raw["experimental-initial-corrupt-check"] === true),
    compactHashCheck:
      gates.get("CompactHashCheck") ??
      (minor >= 3005 && minor <= 3006 && raw["experimental-compact-hash-check-enabled"] === true),
    snapshotCount: number(raw["snapshot-count"], minor >= 3006 ? 10_000 : 100_000),
    electionMs,
    dialsTLS: raw["peer-transport-security"] !== undefined,
  };
}

function checkKind(key: string, value: unknown, minor: number): void {
  const rule = KINDS[key];
  if (rule === undefined || minor < rule[1] || minor > rule[2]) return;
  const wanted = rule[0] === "nanoseconds" ? "number" : rule[0];
  if (typeof value !== wanted) {
    throw new BadConfig(
      `error unmarshaling JSON: while decoding JSON: json: cannot unmarshal ${typeof value} into Go struct field configYAML.Config.${key}`,
    );
  }
}

function featureGates(value: unknown, minor: number): Map<string, boolean> {
  const gates = new Map<string, boolean>();
  if (minor < 3006 || typeof value !== "string") return gates;
  for (const pair of value.split(",").filter(Boolean)) {
    const [gate = "", on] = pair.split("=");
    const from = Object.hasOwn(GATES, gate) ? GATES[gate] : undefined;
    if (from === undefined || minor < from) throw new BadConfig(`unrecognized feature gate: ${gate}`);
    gates.set(gate, on === "true");
  }
  return gates;
}

function number(value: unknown, fallback: number): number {
  return typeof value === "number" ? value : fallback;
}

function string(value: unknown, fallback: string): string {
  return typeof value === "string" ? value : fallback;
}

function urls(value: unknown): string[] {
  return typeof value === "string" ? value.split(",").filter(Boolean) : [];
}
