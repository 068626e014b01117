/**
 * `quorate etcd`: installs etcd of a pinned version into the cache, lists what there is, and tells where.
 */
import { cacheDir, listCached, totalSize } from "../etcd/install/cache.ts";
import { ensureEtcd, findEtcd, type InstalledEtcd } from "../etcd/install/ensure.ts";
import { EtcdInstallError } from "../etcd/install/errors.ts";
import type { InstallProgress } from "../etcd/install/progress.ts";
import { etcdPins, type EtcdSource } from "../etcd/versions.ts";
import { commandOf } from "./called.ts";
import { EXIT } from "./exit.ts";
import { examplesOf, exitCodesOf } from "./help.ts";
import { UsageError, type CliIo } from "./io.ts";
import { oneOf, parseFlags } from "./parse.ts";
import { table } from "./table.ts";

export const summary = "install, list and locate supported etcd versions";

export const usage = (command: string): string => `Usage:
  ${command} etcd install <version> [--source <source>] [-o json]
  ${command} etcd list [-o json]
  ${command} etcd path <version> [-o json]

A version is 3.6.16, or 3.6 for the newest supported patch of 3.6. \`install\` uses the first source that has it:
  dir      the directory $QUORATE_ETCD_DIR, or <version>/ in it
  path     etcd, etcdctl and etcdutl on PATH
           (earlier installations are in the cache, $QUORATE_CACHE or ~/.cache/quorate)
  release  the official release archive, verified against its SHA256SUMS
  go       a static build from Go modules; needs Go 1.21 or later
  debian   Debian's packages, unpacked without installing them

\`path\` prints the directory and installs nothing; it exits with 1 if the version is not installed.

Options:
      --source <source>   use only this source; may be repeated
  -o, --output json       print JSON
  -h, --help

${examplesOf(EXAMPLES, command)}

${exitCodesOf([EXIT.done, EXIT.failed, EXIT.usage, EXIT.interrupted])}
`;

const EXAMPLES = [
  { does: "Install the newest supported patch of 3.6", line: "etcd install 3.6" },
  { does: "What is installed, and where", line: "etcd list" },
  { does: "The directory of its programs", line: "etcd path 3.6" },
];

const SOURCES: readonly EtcdSource[] = ["dir", "path", "release", "go", "debian"];

export async function run(args: string[], io: CliIo): Promise<number> {
  const parsed = parse(args);
  const [action, version, ...rest] = parsed.positionals;
  if (rest.length > 0) throw new UsageError(`too many arguments: ${rest.join(" ")}`);
  if (action === "list" && version === undefined) return await list(io, parsed.json);
  if (action === "list") throw new UsageError("`etcd list` takes no version");
  if (action !== "install" && action !== "path") {
    const hint =
      action === undefined ? "" : ` (got ${action}; ${oneOf(action, ["install", "list", "path"])})`;
    throw new UsageError(`choose one of install, list or path${hint}`);
  }
  if (version === undefined) throw new UsageError(`\`etcd ${action}\` needs a version, such as 3.6`);
  return action === "install" ? await install(version, io, parsed) : await tellPath(version, io, parsed.json);
}

interface Parsed {
  readonly positionals: readonly string[];
  readonly json: boolean;
  readonly sources: readonly EtcdSource[] | undefined;
}

function parse(args: string[]): Parsed {
  const { values, positionals } = parseFlags(args, {
    output: { type: "string", short: "o" },
    source: { type: "string", multiple: true },
  } as const);
  const { output, source } = values;
  if (output !== undefined && output !== "json")
    throw new UsageError(`-o ${output}: the only supported format is json`);
  const sources = source?.map((name) => {
    const known = SOURCES.find((one) => one === name);
    if (known === undefined) throw new UsageError(`--source ${name}: use one of ${SOURCES.join(", ")}`);
    return known;
  });
  return { positionals, json: output === "json", sources };
}

async function install(version: string, io: CliIo, parsed: Parsed): Promise<number> {
  const { json, sources } = parsed;
  const progress = tellProgress(io);
  try {
    const found = await ensureEtcd(version, { ...io, progress, ...(sources && { sources }) });
    if (io.isTTY) io.stderr.write("\r\x1b[K");
    print(io, json, found, `etcd ${found.version} (${found.source}) is in ${found.dir}`);
    return 0;
  } catch (error) {
    if (!(error instanceof EtcdInstallError)) throw error;
    if (io.isTTY) io.stderr.write("\r\x1b[K");
    if (json) io.stdout.write(`${JSON.stringify({ error: { code: error.code, message: error.message } })}\n`);
    io.stderr.write(`${error.message}\n`);
    return error.code === "aborted" ? 130 : 1;
  }
}

async function tellPath(version: string, io: CliIo, json: boolean): Promise<number> {
  const found = await findEtcd(version, io);
  if (found) {
    print(io, json, found, found.dir);
    return 0;
  }
  io.stderr.write(
    `etcd ${version} is not installed. Install it with: ${commandOf(io)} etcd install ${version}\n`,
  );
  return 1;
}

async function list(io: CliIo, json: boolean): Promise<number> {
  const cached = new Map((await listCached(cacheDir(io.env))).map((record) => [record.version, record]));
  const rows = [];
  for (const pin of etcdPins) {
    const found = await findEtcd(pin.version, io);
    const record = found && cached.get(pin.version);
    rows.push({
      version: pin.version,
      role: pin.role,
      sources: pin.sources,
      ...(found && { source: found.source, dir: found.dir }),
      ...(record && { bytes: totalSize(record) }),
    });
  }
  if (json) io.stdout.write(`${JSON.stringify(rows)}\n`);
  else {
    const lines = rows.map((row) => [
      row.version,
      row.role,
      row.source ?? "-",
      megabytes(row.bytes),
      row.dir ?? "not installed",
    ]);
    io.stdout.write(table([["VERSION", "ROLE", "SOURCE", "SIZE", "WHERE"], ...lines]));
  }
  return 0;
}

function print(io: CliIo, json: boolean, found: InstalledEtcd, text: string): void {
  io.stdout.write(`${json ? JSON.stringify(found) : text}\n`);
}

/** One line that is rewritten on a terminal; elsewhere a line per report. */
function tellProgress(io: CliIo): (progress: InstallProgress) => void {
  return ({ version, text, elapsedMs }) => {
    const line = `etcd ${version}: ${text} (${Math.round(elapsedMs / 1000)} s)`;
    io.stderr.write(io.isTTY ? `\r\x1b[K${line.slice(0, (io.stderr.columns || 80) - 1)}` : `${line}\n`);
  };
}

function megabytes(bytes: number | undefined): string {
  return bytes === undefined ? "-" : `${(bytes / 1e6).toFixed(1)} MB`;
}
