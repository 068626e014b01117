/**
 * The official release archive, checked against the release's own SHA256SUMS before it is opened.
 * Not reachable or not there means "try the next source"; a wrong or broken archive is an error.
 */
import { createWriteStream } from "node:fs";
import { copyFile, mkdir, rm } from "node:fs/promises";
import path from "node:path";
import process from "node:process";
import { Readable, Transform } from "node:stream";
import { pipeline } from "node:stream/promises";
import type { ReadableStream } from "node:stream/web";
import { deadline, type Clock } from "../../seams/clock.ts";
import { programsOf } from "./binaries.ts";
import { requireSpace, sha256Of } from "./cache.ts";
import { findChecksum } from "./checksums.ts";
import { runCommand, type Env } from "./command.ts";
import { EtcdInstallError, isNoSpace, noDisk, saysNoSpace, SourceUnavailable } from "./errors.ts";
import { isReleaseServerReachable, remember } from "./probe.ts";
import type { Reporter } from "./progress.ts";

export interface FetchContext {
  readonly version: string;
  /** Empty, and removed afterwards; on the file system of the cache. */
  readonly staging: string;
  readonly cache: string;
  readonly env: Env;
  readonly clock: Clock;
  readonly report: Reporter;
  readonly signal?: AbortSignal;
}

const DEFAULT_URL = "https://github.com/etcd-io/etcd/releases/download";
/** Archive, its contents, and the copies kept. */
const SPACE_NEEDED = 250 * 2 ** 20;
/** A transfer that brings nothing for this long is given up. */
const STALL_MS = 30_000;

/** Leaves the programs of the version in the directory it answers with. */
export async function fetchRelease(context: FetchContext): Promise<string> {
  const { version, staging } = context;
  const base = (context.env["QUORATE_ETCD_DOWNLOAD_URL"] || DEFAULT_URL).replace(/\/+$/, "");
  const name = archiveName(version, process.platform, process.arch);
  if (!(await isReleaseServerReachable(base, context))) {
    throw new SourceUnavailable(`the release server ${new URL(base).host} cannot be reached`);
  }
  const sumsUrl = `${base}/v${version}/SHA256SUMS`;
  const sums = await (await get(context, base, sumsUrl)).text().catch((error: unknown) => {
    throw new SourceUnavailable(`${sumsUrl} could not be read`, { cause: error });
  });
  const expected = findChecksum(sums, name);
  if (expected === undefined) throw new SourceUnavailable(`${sumsUrl} does not list ${name}`);

  await requireSpace(staging, SPACE_NEEDED, version);
  const archive = path.join(staging, name);
  await download(context, base, `${base}/v${version}/${name}`, archive);
  const actual = await sha256Of(archive);
  if (actual !== expected) {
    throw new EtcdInstallError(
      "wrong-checksum",
      version,
      `${name} has SHA-256 ${actual}, but the release's SHA256SUMS lists ${expected}. It was discarded. ` +
        "Run it again; if this repeats, something on the network modifies the file: do not use it, and inform your network administrator.",
    );
  }
  return await unpack(context, archive);
}

/** `etcd-v3.6.16-linux-amd64.tar.gz`: etcd's own naming. */
export function archiveName(version: string, platform: string, arch: string): string {
  const system = platform === "win32" ? "windows" : platform;
  const machine = arch === "x64" ? "amd64" : arch;
  return `etcd-v${version}-${system}-${machine}.${system === "linux" ? "tar.gz" : "zip"}`;
}

async function get(context: FetchContext, base: string, url: string): Promise<Response> {
  using limit = deadline(context.clock, STALL_MS, context.signal);
  let answer: Response;
  try {
    answer = await fetch(url, { signal: limit.signal });
  } catch (error) {
    if (context.signal?.aborted) throw error;
    await remember(base, false, context);
    throw new SourceUnavailable(`${url} cannot be reached`, { cause: error });
  }
  if (answer.ok) return answer;
  await answer.body?.cancel();
  throw new SourceUnavailable(`${url} answered ${answer.status} ${answer.statusText}`.trim());
}

async function download(context: FetchContext, base: string, url: string, file: string): Promise<void> {
  const { version, clock, report } = context;
  report.step(`downloading ${path.basename(file)}`);
  const answer = await get(context, base, url);
  const announced = Number(answer.headers.get("content-length") ?? Number.NaN);
  const stalled = new AbortController();
  const giveUp = () => stalled.abort(new Error(`no data for ${STALL_MS / 1000} s`));
  const onAbort = () => stalled.abort(context.signal?.reason);
  context.signal?.addEventListener("abort", onAbort, { once: true });
  let received = 0;
  let timer = clock.timer(STALL_MS, giveUp);
  const meter = new Transform({
    transform(chunk: Buffer, _encoding, done) {
      received += chunk.length;
      report.detail(`downloading ${path.basename(file)}, ${(received / 2 ** 20).toFixed(1)} MiB`);
      timer.cancel();
      timer = clock.timer(STALL_MS, giveUp);
      done(null, chunk);
    },
  });
  try {
    const body = answer.body ? Readable.fromWeb(answer.body as ReadableStream) : Readable.from([]);
    await pipeline(body, meter, createWriteStream(file), { signal: stalled.signal });
  } catch (error) {
    if (context.signal?.aborted) throw error;
    if (isNoSpace(error)) throw noDisk(version, context.cache, `full after ${received} bytes`, error);
    throw truncated(version, url, received, announced, error);
  } finally {
    timer.cancel();
    context.signal?.removeEventListener("abort", onAbort);
  }
  if (Number.isFinite(announced) && received < announced) throw truncated(version, url, received, announced);
}

function truncated(version: string, url: string, got: number, of: number, cause?: unknown): EtcdInstallError {
  const total = Number.isFinite(of) ? ` of ${of}` : "";
  return new EtcdInstallError(
    "bad-archive",
    version,
    `The download of ${url} ended after ${got}${total} bytes. It was discarded; run it again.`,
    { cause },
  );
}

async function unpack(context: FetchContext, archive: string): Promise<string> {
  const { version, env, signal } = context;
  context.report.step(`unpacking ${path.basename(archive)}`);
  const into = path.join(context.staging, "unpacked");
  const programs = path.join(context.staging, "programs");
  await mkdir(into);
  await mkdir(programs);
  const answer = await runCommand("tar", ["-xf", archive, "-C", into], { env, ...(signal && { signal }) });
  if (answer.code === 127) throw new SourceUnavailable("there is no tar to unpack it with");
  if (saysNoSpace(answer.stderr)) throw noDisk(version, context.cache, "full while unpacking");
  if (answer.code !== 0) throw badArchive(version, archive, answer.stderr.trim());
  const root = path.join(into, path.basename(archive).replace(/\.(tar\.gz|zip)$/, ""));
  for (const program of programsOf(version)) {
    await copyFile(path.join(root, program), path.join(programs, program)).catch(
      (error: NodeJS.ErrnoException) => {
        if (error.code === "ENOENT") throw badArchive(version, archive, `it has no ${program}`);
        throw error;
      },
    );
  }
  await rm(archive);
  await rm(into, { recursive: true });
  return programs;
}

function badArchive(version: string, archive: string, detail: string): EtcdInstallError {
  return new EtcdInstallError(
    "bad-archive",
    version,
    `${path.basename(archive)} matches the release's SHA256SUMS, but cannot be unpacked: ${detail}. ` +
      "Try again later, or use your own binaries with QUORATE_ETCD_DIR.",
  );
}
