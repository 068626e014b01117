/**
 * Names of a change log's objects, beside the snapshots that it goes with:
 *
 *   changes/<cluster ID>/<first revision>.log   a segment, named so that two writers of the same one meet
 *   changes/<cluster ID>/<revision>.end         the log ends before this revision, and a new base follows
 *   changes/<cluster ID>/live.json              up to where and when the log is known to be complete
 */

const DIGITS = 20;
const NAME = /^(?:.*\/)?changes\/([0-9a-f]{1,16})\/(?:(\d{20})\.(log|end)|live\.json)$/;

export function logPrefix(clusterId: string): string {
  return `changes/${clusterId}/`;
}

export function segmentName(clusterId: string, first: number): string {
  return `${logPrefix(clusterId)}${String(first).padStart(DIGITS, "0")}.log`;
}

export function endName(clusterId: string, revision: number): string {
  return `${logPrefix(clusterId)}${String(revision).padStart(DIGITS, "0")}.end`;
}

export function liveName(clusterId: string): string {
  return `${logPrefix(clusterId)}live.json`;
}

export interface LogName {
  readonly clusterId: string;
  readonly kind: "log" | "end" | "live";
  /** Undefined for `live.json`. */
  readonly revision?: number;
}

/** Undefined for a name that no change log has. */
export function parseLogName(name: string): LogName | undefined {
  const [, clusterId, revision, kind] = NAME.exec(name) ?? [];
  if (clusterId === undefined) return undefined;
  if (revision === undefined) return { clusterId, kind: "live" };
  return { clusterId, kind: kind === "end" ? "end" : "log", revision: Number(revision) };
}
