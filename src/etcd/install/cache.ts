/**
 * The cache of installed etcds: `<cache>/etcd/<version>/` with the programs and a record of where they
 * came from. A version is made in a staging directory beside it and appears by one rename, so what is
 * there is whole.
 */
import { createHash } from "node:crypto";
import { createReadStream } from "node:fs";
import { chmod, mkdir, readdir, readFile, rename, rm, stat, statfs, writeFile } from "node:fs/promises";
import os from "node:os";
import path from "node:path";
import { pipeline } from "node:stream/promises";
import type { FetchSource } from "../versions.ts";
import { programsOf, type Program } from "./binaries.ts";
import type { Env } from "./command.ts";
import { noDisk } from "./errors.ts";

/** `install.json` beside the programs. */
export interface InstallRecord {
  readonly version: string;
  readonly source: FetchSource;
  /** Milliseconds since the epoch. */
  readonly installedAt: number;
  readonly tookMs: number;
  readonly programs: Readonly<Record<string, { readonly size: number; readonly sha256: string }>>;
}

const RECORD = "install.json";

/** `$QUORATE_CACHE`, or `.cache/quorate` in the home directory. */
export function cacheDir(env: Env): string {
  return env["QUORATE_CACHE"] || path.join(env["HOME"] || os.homedir(), ".cache", "quorate");
}

export function etcdCacheDir(cache: string): string {
  return path.join(cache, "etcd");
}

export function versionDir(cache: string, version: string): string {
  return path.join(etcdCacheDir(cache), version);
}

/** The record of a cached version whose programs are all there in the recorded size. */
export async function readCached(cache: string, version: string): Promise<InstallRecord | undefined> {
  const dir = versionDir(cache, version);
  let record: InstallRecord;
  try {
    record = JSON.parse(await readFile(path.join(dir, RECORD), "utf8")) as InstallRecord;
  } catch {
    return undefined; // Absent or not ours: it is installed anew.
  }
  for (const program of programsOf(version)) {
    const size = await sizeOf(path.join(dir, program));
    if (size === undefined || size !== record.programs[program]?.size) return undefined;
  }
  return record;
}

/** Versions in the cache, whole ones only. */
export async function listCached(cache: string): Promise<InstallRecord[]> {
  const names = await readdir(etcdCacheDir(cache)).catch(() => []);
  const records = await Promise.all(
    names.filter((name) => !name.startsWith(".")).map((name) => readCached(cache, name)),
  );
  return records.filter((record) => record !== undefined);
}

/** An empty directory to make `version` in, on the same file system as its final place. */
export async function makeStaging(cache: string, version: string): Promise<string> {
  await removeLeftovers(cache, version);
  const dir = path.join(etcdCacheDir(cache), `.staging-${version}-${process.pid}`);
  await mkdir(dir, { recursive: true });
  return dir;
}

/** What an installer that was killed left behind. Only for the holder of the version's lock. */
export async function removeLeftovers(cache: string, version: string): Promise<void> {
  const dir = etcdCacheDir(cache);
  for (const name of await readdir(dir).catch(() => [])) {
    if (name.startsWith(`.staging-${version}-`) || name.startsWith(`.old-${version}-`)) {
      await rm(path.join(dir, name), { recursive: true, force: true });
    }
  }
}

/** Makes the programs in `staged` the cached ones of `version`. */
export async function commitStaged(
  cache: string,
  staged: string,
  facts: Omit<InstallRecord, "programs">,
): Promise<InstallRecord> {
  const programs: Record<string, { size: number; sha256: string }> = {};
  for (const program of programsOf(facts.version)) {
    const file = path.join(staged, program);
    await chmod(file, 0o755);
    programs[program] = { size: (await stat(file)).size, sha256: await sha256Of(file) };
  }
  const record: InstallRecord = { ...facts, programs };
  await writeFile(path.join(staged, RECORD), `${JSON.stringify(record, null, 2)}\n`);
  const target = versionDir(cache, facts.version);
  // rename() does not replace a directory with files in it: move a broken or unwanted one aside first.
  const old = path.join(etcdCacheDir(cache), `.old-${facts.version}-${process.pid}`);
  const hadOld = await rename(target, old).then(
    () => true,
    (error: NodeJS.ErrnoException) => {
      if (error.code === "ENOENT") return false;
      throw error;
    },
  );
  await rename(staged, target);
  if (hadOld) await rm(old, { recursive: true, force: true });
  return record;
}

/** Fails early when there is clearly too little room; a disk that fills up later is found by the write. */
export async function requireSpace(dir: string, bytes: number, version: string): Promise<void> {
  const { bavail, bsize } = await statfs(dir);
  const free = bavail * bsize;
  if (free < bytes) throw noDisk(version, dir, `${megabytes(free)} free, about ${megabytes(bytes)} needed`);
}

export function totalSize(record: InstallRecord): number {
  return Object.values(record.programs).reduce((sum, program) => sum + program.size, 0);
}

export function pathsIn(dir: string, version: string): Partial<Record<Program, string>> {
  return Object.fromEntries(programsOf(version).map((program) => [program, path.join(dir, program)]));
}

export async function sha256Of(file: string): Promise<string> {
  const hash = createHash("sha256");
  await pipeline(createReadStream(file), hash);
  return hash.digest("hex");
}

async function sizeOf(file: string): Promise<number | undefined> {
  const found = await stat(file).catch(() => undefined);
  return found?.isFile() ? found.size : undefined;
}

function megabytes(bytes: number): string {
  return `${Math.floor(bytes / 2 ** 20)} MiB`;
}
