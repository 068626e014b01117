/**
 * etcd's offline tool: what can be done to snapshots and to data directories that no etcd is using.
 * Each version's tool handles its own files best, so it comes with the version it belongs to (R24).
 */
import { runCommand, type CommandResult, type Env } from "./install/command.ts";

export interface Etcdutl {
  /** Path of the etcdutl binary. */
  readonly binary: string;
  /** Its version, which decides the flags and subcommands it has. */
  readonly version: string;
  readonly env: Env;
  readonly signal?: AbortSignal;
}

export type EtcdutlErrorReason =
  | "not-supported"
  | "hash-mismatch"
  | "not-a-snapshot"
  | "in-use"
  | "exists"
  | "not-found"
  | "failed";

export class EtcdutlError extends Error {
  override name = "EtcdutlError";
  readonly reason: EtcdutlErrorReason;
  constructor(reason: EtcdutlErrorReason, message: string) {
    super(message);
    this.reason = reason;
  }
}

export interface SnapshotStatus {
  /** CRC-32 of the keys and values, as etcdutl computes it. */
  readonly hash: number;
  readonly revision: bigint;
  readonly totalKeys: number;
  readonly totalSize: number;
  /** The storage version; written since 3.6. */
  readonly version?: string;
}

export interface RestoreOptions {
  readonly snapshot: string;
  /** Must not exist yet. */
  readonly dataDir: string;
  readonly name: string;
  readonly peerUrls: readonly string[];
  /** All members that start from this snapshot, as `name=url` pairs. */
  readonly initialCluster: readonly string[];
  readonly token: string;
  readonly walDir?: string;
  /** A database file copied from a data directory has no hash (R23). */
  readonly skipHashCheck?: boolean;
  /** Moves the revision up and marks all before as compacted, so that watchers notice (R24). */
  readonly bumpRevision?: bigint;
}

/** What a snapshot file holds. */
export async function snapshotStatus(tool: Etcdutl, file: string): Promise<SnapshotStatus> {
  const answer = await json(tool, ["snapshot", "status", file]);
  const version = answer["version"];
  return {
    hash: Number(answer["hash"]),
    revision: BigInt(Number(answer["revision"])),
    totalKeys: Number(answer["totalKey"]),
    totalSize: Number(answer["totalSize"]),
    ...(typeof version === "string" && version !== "" ? { version } : {}),
  };
}

/** Writes a data directory of one member from a snapshot. */
export async function snapshotRestore(tool: Etcdutl, options: RestoreOptions): Promise<void> {
  await run(tool, restoreArguments(tool.version, options));
}

/** With arguments that are made already; throws an `EtcdutlError` where it fails. */
export async function runEtcdutl(tool: Etcdutl, args: readonly string[]): Promise<void> {
  await run(tool, args);
}

export function restoreArguments(version: string, options: RestoreOptions): string[] {
  const bump = options.bumpRevision ?? 0n;
  if (bump > 0n && !atLeast(version, 3, 5, 10))
    throw new EtcdutlError(
      "not-supported",
      `etcdutl ${version} cannot bump the revision; 3.5.10 and later can`,
    );
  return [
    "snapshot",
    "restore",
    options.snapshot,
    `--data-dir=${options.dataDir}`,
    ...(options.walDir === undefined ? [] : [`--wal-dir=${options.walDir}`]),
    `--name=${options.name}`,
    `--initial-cluster=${options.initialCluster.join(",")}`,
    `--initial-cluster-token=${options.token}`,
    `--initial-advertise-peer-urls=${options.peerUrls.join(",")}`,
    ...(options.skipHashCheck ? ["--skip-hash-check"] : []),
    // Each needs the other.
    ...(bump > 0n ? [`--bump-revision=${bump}`, "--mark-compacted"] : []),
  ];
}

/** Gives the free space of a stopped member's database back to the file system. */
export async function defragment(tool: Etcdutl, dataDir: string): Promise<void> {
  await run(tool, ["defrag", `--data-dir=${dataDir}`]);
}

/** Rewrites a stopped member's data for another minor version, as "3.6" (R13). */
export async function migrate(tool: Etcdutl, dataDir: string, targetVersion: string): Promise<void> {
  if (!atLeast(tool.version, 3, 6, 0))
    throw new EtcdutlError(
      "not-supported",
      `etcdutl ${tool.version} has no migrate; use that of 3.6 or later`,
    );
  await run(tool, ["migrate", `--data-dir=${dataDir}`, `--target-version=${targetVersion}`]);
}

/**
 * Whether a stopped member of 3.5 holds custom content in its v2 store, which 3.6 refuses (R12).
 * Only late patches of 3.5 can tell.
 */
export async function hasV2Content(tool: Etcdutl, dataDir: string): Promise<boolean> {
  const result = await runCommand(tool.binary, ["check", "v2store", `--data-dir=${dataDir}`], options(tool));
  const said = words(result);
  if (/unknown command "check"/.test(said))
    throw new EtcdutlError(
      "not-supported",
      `etcdutl ${tool.version} cannot check the v2 store; use a later 3.5`,
    );
  if (/custom content/i.test(said) && !/no custom content/i.test(said)) return true;
  if (result.code !== 0) throw failure(["check", "v2store"], result);
  return false;
}

/** The hash of the keys in a stopped member's database, to compare with HashKV of others. */
export async function hashKv(
  tool: Etcdutl,
  file: string,
  revision = 0n,
): Promise<{ hash: number; hashRevision: bigint; compactRevision: bigint }> {
  if (!atLeast(tool.version, 3, 6, 0))
    throw new EtcdutlError(
      "not-supported",
      `etcdutl ${tool.version} has no hashkv; use that of 3.6 or later`,
    );
  const answer = await json(tool, ["hashkv", file, `--rev=${revision}`]);
  return {
    hash: Number(answer["hash"]),
    hashRevision: BigInt(Number(answer["hashRevision"])),
    compactRevision: BigInt(Number(answer["compactRevision"])),
  };
}

async function json(tool: Etcdutl, args: readonly string[]): Promise<Record<string, unknown>> {
  const { stdout } = await run(tool, [...args, "--write-out=json"]);
  const answer: unknown = JSON.parse(stdout);
  if (typeof answer === "object" && answer !== null) return answer as Record<string, unknown>;
  throw new EtcdutlError("failed", `etcdutl ${args.join(" ")} answered ${stdout}`);
}

async function run(tool: Etcdutl, args: readonly string[]): Promise<CommandResult> {
  const result = await runCommand(tool.binary, args, options(tool));
  if (result.code !== 0) throw failure(args, result);
  return result;
}

function options(tool: Etcdutl): { env: Env; signal?: AbortSignal } {
  return { env: tool.env, ...(tool.signal === undefined ? {} : { signal: tool.signal }) };
}

function words(result: CommandResult): string {
  return `${result.stdout}\n${result.stderr}`;
}

const reasons: readonly (readonly [EtcdutlErrorReason, RegExp, string])[] = [
  [
    "hash-mismatch",
    /expected sha256|snapshot missing hash/,
    "the file is damaged or is a copied database: use another snapshot",
  ],
  [
    "not-a-snapshot",
    /invalid database|invalid page|file size too small|unexpected EOF/,
    "pass a snapshot file",
  ],
  [
    "in-use",
    /timeout|resource temporarily unavailable|cannot acquire/,
    "stop the etcd that uses the directory",
  ],
  ["exists", /not empty|already exist/, "restore into a directory that does not exist"],
  ["not-found", /no such file or directory/, "check the path"],
];

function failure(args: readonly string[], result: CommandResult): EtcdutlError {
  const said = words(result).trim().split("\n").at(-1) ?? "";
  const [reason, , next] = reasons.find(([, pattern]) => pattern.test(words(result))) ?? [
    "failed",
    /$/,
    "check its output",
  ];
  return new EtcdutlError(
    reason,
    `etcdutl ${args.slice(0, 2).join(" ")} ended with ${result.code}: ${said}; ${next}`,
  );
}

function atLeast(version: string, ...least: readonly [number, number, number]): boolean {
  const parts = version.split(".").map(Number);
  for (const [index, wanted] of least.entries()) {
    const have = parts[index] ?? 0;
    if (have !== wanted) return have > wanted;
  }
  return true;
}
