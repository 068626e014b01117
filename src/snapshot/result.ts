/**
 * What a process that works for a snapshot came to, as one line of JSON in a file: on Kubernetes the termination message
 * of its container, which holds 4096 bytes. Whoever reads it needs no access to the store, and the writer none to
 * Kubernetes.
 */
import type { Manifest } from "./manifest.ts";

/** By name in the store; the rest as in the status of an EtcdSnapshot. */
export interface SnapshotResult {
  readonly object: string;
  readonly size: number;
  readonly storedSize: number;
  readonly sha256: string;
  readonly revision: number;
  readonly totalKeys?: number;
  readonly etcdVersion: string;
  readonly clusterID: string;
  readonly takenFrom: string;
}

/** What a verification found. */
export interface VerifiedResult {
  readonly rtoMs: number;
  readonly revision: number;
  readonly totalKeys: number;
  /** Whether etcd's own hash of the keys was compared, too. */
  readonly hashCompared: boolean;
}

export type JobResult =
  | { readonly ok: true; readonly snapshot?: SnapshotResult; readonly verified?: VerifiedResult }
  | { readonly ok: false; readonly reason: string; readonly message: string };

/** `object`: relative to the folder that was given. */
export function resultOf(object: string, manifest: Manifest): SnapshotResult {
  const { size, stored, sha256, revision, totalKeys, etcdVersion, clusterId, member } = manifest;
  return {
    object,
    size,
    storedSize: stored.size,
    sha256,
    revision,
    ...(totalKeys !== undefined && { totalKeys }),
    etcdVersion,
    clusterID: clusterId,
    takenFrom: member.name ?? member.id,
  };
}

/** With the rest of the JSON it has to fit into 4096 bytes, in any script. */
const LONGEST_MESSAGE = 900;

export function writeResult(result: JobResult): string {
  const short = result.ok ? result : { ...result, message: result.message.slice(0, LONGEST_MESSAGE) };
  return `${JSON.stringify(short)}\n`;
}

/** Undefined for anything else: a container can end with any words. */
export function parseResult(text: string | undefined): JobResult | undefined {
  if (!text?.startsWith("{")) return undefined;
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return undefined;
  }
  const { ok, reason, message, snapshot, verified } = value as Record<string, unknown>;
  if (ok === false)
    return typeof reason === "string" && typeof message === "string" ? { ok, reason, message } : undefined;
  if (ok !== true) return undefined;
  if (verified !== undefined) return isVerified(verified) ? { ok, verified } : undefined;
  if (snapshot === undefined) return { ok };
  return isSnapshot(snapshot) ? { ok, snapshot } : undefined;
}

function isVerified(value: unknown): value is VerifiedResult {
  if (typeof value !== "object" || value === null) return false;
  const { rtoMs, revision, totalKeys, hashCompared, ...rest } = value as Record<string, unknown>;
  return (
    [rtoMs, revision, totalKeys].every((one) => Number.isSafeInteger(one) && Number(one) >= 0) &&
    typeof hashCompared === "boolean" &&
    Object.keys(rest).length === 0
  );
}

const TEXTS = ["object", "sha256", "etcdVersion", "clusterID", "takenFrom"] as const;
const NUMBERS = ["size", "storedSize", "revision"] as const;

function isSnapshot(value: unknown): value is SnapshotResult {
  if (typeof value !== "object" || value === null) return false;
  const fields = value as Record<string, unknown>;
  const { totalKeys } = fields;
  return (
    TEXTS.every((name) => typeof fields[name] === "string") &&
    NUMBERS.every((name) => Number.isSafeInteger(fields[name])) &&
    (totalKeys === undefined || Number.isSafeInteger(totalKeys)) &&
    Object.keys(fields).every((name) => [...TEXTS, ...NUMBERS, "totalKeys"].includes(name))
  );
}
