/**
 * Where a rescue works, and how etcd runs on the copy: for those who do it themselves, and for those who have containers
 * do it.
 */
import path from "node:path";

export const RESCUED_SNAPSHOT = "snapshot.db";
export const RESCUE_LOG = "etcd.log";
export const ATTEMPT = "attempt-";
export const COPY = "data";
/** The one-shot etcd must never raise an alarm for want of room. */
const QUOTA_BYTES = 64 * 1024 ** 3;

/** Of the snapshot, relative to the volume of the survivor. */
export function snapshotOn(plan: string): string {
  return path.posix.join(RECOVERIES, plan, RESCUED_SNAPSHOT);
}

const RECOVERIES = "recovery";

/** A directory for each plan. */
export function recoveriesOn(volume: string): string {
  return path.posix.join(volume, RECOVERIES);
}

/**
 * On the volume of the survivor: only there, so that the data beside it stays as it is. `by`: who makes the copy, and
 * nobody else ever has the same, so that an etcd of an earlier attempt that still ends cannot write into it.
 */
export function placesOn(volume: string, plan: string, by: string) {
  const workDir = path.posix.join(recoveriesOn(volume), plan);
  const attempt = path.posix.join(workDir, `${ATTEMPT}${by}`);
  return {
    dataDir: path.posix.join(volume, "data"),
    workDir,
    attempt,
    copy: path.posix.join(attempt, COPY),
  };
}

/**
 * Where `quorate recover node` works, below a directory for recoveries. The name is never that of a plan of the operator,
 * which removes what its own plans left.
 */
export function nodeWorkDir(base: string, plan: string): string {
  return path.join(base, `${NODE}${plan}`);
}

export function isNodeWorkDir(directory: string): boolean {
  return path.basename(directory).startsWith(NODE);
}

const NODE = "node-";

export function dataDirFlag(directory: string): string {
  return `--data-dir=${directory}`;
}

/** Alone, and with room for whatever the copy holds. */
export function forcedArguments(at: {
  readonly copy: string;
  readonly url: string;
  readonly peerUrl: string;
}): string[] {
  const { copy, url, peerUrl } = at;
  return [
    "--name=survivor",
    dataDirFlag(copy),
    `--listen-client-urls=${url}`,
    `--advertise-client-urls=${url}`,
    `--listen-peer-urls=${peerUrl}`,
    `--initial-advertise-peer-urls=${peerUrl}`,
    `--initial-cluster=survivor=${peerUrl}`,
    "--force-new-cluster",
    "--auto-compaction-retention=0",
    `--quota-backend-bytes=${QUOTA_BYTES}`,
  ];
}
