/**
 * The one call by which everything else comes by an etcd: `ensureEtcd("3.6.16", …)` answers with the
 * programs of that version, from the first source that has it, and installs it into the cache if need be.
 */
import { rm } from "node:fs/promises";
import path from "node:path";
import type { Clock } from "../../seams/clock.ts";
import { exactVersion, findPin, type EtcdSource, type FetchSource } from "../versions.ts";
import { askVersion, programsOf, type Program } from "./binaries.ts";
import {
  cacheDir,
  commitStaged,
  etcdCacheDir,
  makeStaging,
  pathsIn,
  readCached,
  versionDir,
} from "./cache.ts";
import type { Env } from "./command.ts";
import { fetchDebian } from "./debian.ts";
import {
  aborted,
  cacheNotWritable,
  EtcdInstallError,
  isNoSpace,
  isNotWritable,
  noDisk,
  SourceUnavailable,
  unknownVersion,
  USE_YOUR_OWN,
} from "./errors.ts";
import { buildFromGo } from "./go.ts";
import { findInDir, findOnPath } from "./local.ts";
import { withLock } from "./lock.ts";
import { Reporter, type OnProgress } from "./progress.ts";
import { fetchRelease, type FetchContext } from "./release.ts";

export interface EnsureOptions {
  readonly env: Env;
  readonly clock: Clock;
  /** Default: `$QUORATE_CACHE`, or `.cache/quorate` in the home directory. */
  readonly cache?: string;
  readonly progress?: OnProgress;
  readonly signal?: AbortSignal;
  /** Only these may deliver (a cached one counts when it came from one of them); default: all. */
  readonly sources?: readonly EtcdSource[];
}

export interface InstalledEtcd {
  readonly version: string;
  readonly source: EtcdSource;
  readonly dir: string;
  readonly etcd: string;
  readonly etcdctl: string;
  /** Absent before 3.5. */
  readonly etcdutl?: string;
}

const FETCHERS: Readonly<Record<FetchSource, (context: FetchContext) => Promise<string>>> = {
  release: fetchRelease,
  go: buildFromGo,
  debian: fetchDebian,
};

/** The etcd of `wanted` (`3.6.16`, `v3.6.16`, or `3.6` for its newest pinned patch), installed if need be. */
export async function ensureEtcd(wanted: string, options: EnsureOptions): Promise<InstalledEtcd> {
  const version = exactVersion(wanted);
  if (version === undefined) throw unknownVersion(wanted);
  const tried: string[] = [];
  const there = await look(version, options, tried);
  if (there) return there;
  const pin = findPin(version);
  if (pin === undefined) throw unknownVersion(version, tried);

  const cache = options.cache ?? cacheDir(options.env);
  using report = new Reporter(version, options.clock, options.progress);
  try {
    const lock = {
      ...options,
      onWait: (holder: { pid: number }) =>
        report.step(`waiting for process ${holder.pid}, which is installing it`),
    };
    return await withLock(etcdCacheDir(cache), version, lock, async () => {
      // Another process may have installed it while we waited for the lock.
      const cached = await lookInCache(version, cache, options.sources);
      if (cached) return cached;
      const sources = pin.sources.filter((source) => !options.sources || options.sources.includes(source));
      return await install(version, sources, { ...options, cache, report }, tried);
    });
  } catch (error) {
    if (options.signal?.aborted) throw aborted(version, error);
    if (isNoSpace(error)) throw noDisk(version, cache, "it is full", error);
    if (isNotWritable(error)) throw cacheNotWritable(version, cache, error);
    throw error;
  }
}

/** The etcd of `wanted` if it is on this machine already; installs nothing. */
export async function findEtcd(wanted: string, options: EnsureOptions): Promise<InstalledEtcd | undefined> {
  const version = exactVersion(wanted);
  return version === undefined ? undefined : await look(version, options, []);
}

async function look(
  version: string,
  options: EnsureOptions,
  tried: string[],
): Promise<InstalledEtcd | undefined> {
  const allowed = (source: EtcdSource) => !options.sources || options.sources.includes(source);
  for (const [source, find] of [
    ["dir", findInDir],
    ["path", findOnPath],
  ] as const) {
    if (!allowed(source)) continue;
    const answer = await find(version, options);
    if ("found" in answer)
      return installed(version, answer.found.source, answer.found.dir, answer.found.programs);
    if (answer.missing !== undefined) tried.push(answer.missing);
  }
  return await lookInCache(version, options.cache ?? cacheDir(options.env), options.sources);
}

async function lookInCache(
  version: string,
  cache: string,
  sources: readonly EtcdSource[] | undefined,
): Promise<InstalledEtcd | undefined> {
  const record = await readCached(cache, version);
  if (!record || (sources && !sources.includes(record.source))) return undefined;
  const dir = versionDir(cache, version);
  return installed(version, record.source, dir, pathsIn(dir, version));
}

interface InstallContext extends EnsureOptions {
  readonly cache: string;
  readonly report: Reporter;
}

/** Tries the sources in order. Only for the holder of the version's lock. */
async function install(
  version: string,
  sources: readonly FetchSource[],
  context: InstallContext,
  tried: string[],
): Promise<InstalledEtcd> {
  let failure: EtcdInstallError | undefined;
  for (const source of sources) {
    const staging = await makeStaging(context.cache, version);
    try {
      return await installFrom(source, version, staging, context);
    } catch (error) {
      // A source that is not there, or whose build fails, leaves the others; anything else needs a person.
      if (error instanceof SourceUnavailable) tried.push(`${source}: ${error.message}`);
      else if (error instanceof EtcdInstallError && error.code === "build-failed") failure = error;
      else throw error;
    } finally {
      await rm(staging, { recursive: true, force: true });
    }
  }
  if (failure) throw failure;
  throw new EtcdInstallError(
    "no-source",
    version,
    `etcd ${version} could not be installed from any source: ${tried.join("; ") || "no source is allowed"}. ` +
      `Connect to the internet, or install Go, and try again. ${USE_YOUR_OWN}`,
  );
}

async function installFrom(
  source: FetchSource,
  version: string,
  staging: string,
  context: InstallContext,
): Promise<InstalledEtcd> {
  const { clock, cache, env, report, signal } = context;
  const programs = await FETCHERS[source]({
    version,
    staging,
    cache,
    env,
    clock,
    report,
    ...(signal && { signal }),
  });
  for (const program of programsOf(version)) {
    const says = await askVersion(path.join(programs, program), env, signal);
    if (says !== version) throw wrongBinary(version, program, source, says);
  }
  const facts = { version, source, installedAt: clock.now(), tookMs: Math.round(report.elapsedMs()) };
  await commitStaged(cache, programs, facts);
  report.step(`installed (${source})`);
  const dir = versionDir(cache, version);
  return installed(version, source, dir, pathsIn(dir, version));
}

function wrongBinary(version: string, program: Program, source: FetchSource, says: string | undefined) {
  const problem = says === undefined ? "does not run on this machine" : `says it is ${says}`;
  return new EtcdInstallError(
    "wrong-binary",
    version,
    `The ${program} from ${source} ${problem}, not ${version}. It was discarded. ${USE_YOUR_OWN}`,
  );
}

function installed(
  version: string,
  source: EtcdSource,
  dir: string,
  programs: Readonly<Partial<Record<Program, string>>>,
): InstalledEtcd {
  const { etcd, etcdctl, etcdutl } = programs;
  if (etcd === undefined || etcdctl === undefined)
    throw new Error(`no etcd and etcdctl among the programs in ${dir}`);
  return { version, source, dir, etcd, etcdctl, ...(etcdutl !== undefined && { etcdutl }) };
}
