/**
 * Why an etcd could not be installed. The message always ends with what to do next.
 */
import { etcdPins } from "../versions.ts";

export type EtcdInstallErrorCode =
  /** Not pinned, and not found among the user's own binaries either. */
  | "unknown-version"
  /** The archive is cut short or is not what an etcd release looks like. */
  | "bad-archive"
  /** The archive is whole but is not the one the release signed for. */
  | "wrong-checksum"
  | "no-disk"
  | "cache-not-writable"
  /** Every allowed source was tried and none could deliver. */
  | "no-source"
  | "build-failed"
  /** What was installed does not run, or says it is another version. */
  | "wrong-binary"
  | "aborted";

export class EtcdInstallError extends Error {
  override name = "EtcdInstallError";
  readonly code: EtcdInstallErrorCode;
  readonly version: string;
  constructor(code: EtcdInstallErrorCode, version: string, message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
    this.version = version;
  }
}

/** A source that cannot deliver here, for a reason that says nothing about the other sources. */
export class SourceUnavailable extends Error {
  override name = "SourceUnavailable";
}

export const USE_YOUR_OWN =
  "To use your own binaries, set QUORATE_ETCD_DIR to a directory that holds etcd, etcdctl and etcdutl, " +
  "or one such directory per version (<dir>/<version>/etcd).";

export function unknownVersion(version: string, tried: readonly string[] = []): EtcdInstallError {
  const known = etcdPins.map((pin) => pin.version).join(", ");
  const looked = tried.length === 0 ? "" : ` Also searched: ${tried.join("; ")}.`;
  return new EtcdInstallError(
    "unknown-version",
    version,
    `etcd ${version} is not a version that can be installed. Known versions: ${known}.${looked} ${USE_YOUR_OWN}`,
  );
}

export function noDisk(version: string, where: string, detail: string, cause?: unknown): EtcdInstallError {
  return new EtcdInstallError(
    "no-disk",
    version,
    `Not enough disk space to install etcd ${version} in ${where}: ${detail}. Nothing was installed. ` +
      "Free some space, or set QUORATE_CACHE to a directory on a larger disk.",
    { cause },
  );
}

export function cacheNotWritable(version: string, cache: string, cause: unknown): EtcdInstallError {
  return new EtcdInstallError(
    "cache-not-writable",
    version,
    `etcd ${version} cannot be installed in ${cache}: ${(cause as Error).message}. ` +
      "Set QUORATE_CACHE to a writable directory.",
    { cause },
  );
}

export function aborted(version: string, cause: unknown): EtcdInstallError {
  return new EtcdInstallError(
    "aborted",
    version,
    `Installing etcd ${version} was interrupted. Nothing was installed; run it again.`,
    { cause },
  );
}

export function isNoSpace(error: unknown): boolean {
  const code = (error as NodeJS.ErrnoException | undefined)?.code;
  return code === "ENOSPC" || code === "EDQUOT";
}

export function isNotWritable(error: unknown): boolean {
  const code = (error as NodeJS.ErrnoException | undefined)?.code;
  return code === "EACCES" || code === "EPERM" || code === "EROFS" || code === "ENOTDIR";
}

/** What programs we call print when the disk is full: they have no error code to go by. */
export function saysNoSpace(output: string): boolean {
  return /no space left on device|disk quota exceeded/i.test(output);
}
