/**
 * Debian's packages, unpacked into the cache and never installed. apt gets a private configuration with
 * only the suite that has the version, from the mirror this machine is set up with, so that neither root
 * nor a change to the machine's package lists is needed.
 */
import { constants } from "node:fs";
import { access, copyFile, mkdir, readdir, writeFile } from "node:fs/promises";
import path from "node:path";
import { findPin } from "../versions.ts";
import { programsOf } from "./binaries.ts";
import { requireSpace } from "./cache.ts";
import { runCommand, type CommandResult } from "./command.ts";
import { noDisk, saysNoSpace, SourceUnavailable } from "./errors.ts";
import type { FetchContext } from "./release.ts";

/** Signs every suite; where it is missing, apt's default trust decides. */
const KEYRING = "/usr/share/keyrings/debian-archive-keyring.gpg";
/** Package lists, two packages and what is in them. */
const SPACE_NEEDED = 250 * 2 ** 20;

export async function fetchDebian(context: FetchContext): Promise<string> {
  const { version, staging, report } = context;
  const suite = findPin(version)?.debianSuite;
  if (suite === undefined) throw new SourceUnavailable("no Debian suite is known to have it");
  const mirror = await findMirror(context);
  await requireSpace(staging, SPACE_NEEDED, version);

  const apt = path.join(staging, "apt");
  const config = await writeAptConfig(apt, mirror, suite);
  report.step(`reading the package list of Debian ${suite}`);
  must(
    context,
    await run(context, "apt-get", [...config, "update"], apt),
    `reading Debian ${suite}'s package list`,
  );
  report.step(`downloading etcd-server and etcd-client from Debian ${suite}`);
  const packages = ["etcd-server", "etcd-client"];
  must(
    context,
    await run(context, "apt-get", [...config, "download", ...packages], apt),
    "downloading the packages",
  );

  const unpacked = path.join(staging, "unpacked");
  const files = (await readdir(apt)).filter((name) => name.endsWith(".deb"));
  for (const file of files.map((name) => path.join(apt, name))) {
    const answer = await run(context, "dpkg-deb", ["-f", file, "Version"], apt);
    if (upstreamVersion(answer.stdout) !== version) {
      throw new SourceUnavailable(`Debian ${suite} now has ${path.basename(file)} instead of ${version}`);
    }
    must(
      context,
      await run(context, "dpkg-deb", ["-x", file, unpacked], apt),
      `unpacking ${path.basename(file)}`,
    );
  }
  const programs = path.join(staging, "programs");
  await mkdir(programs);
  for (const program of programsOf(version)) {
    await copyFile(path.join(unpacked, "usr/bin", program), path.join(programs, program));
  }
  return programs;
}

/** `3.4.23` of `3.4.23-4+b4`, also with an epoch in front. */
export function upstreamVersion(debianVersion: string): string {
  return debianVersion
    .trim()
    .replace(/^\d+:/, "")
    .replace(/-[^-]*$/, "");
}

/** The machine's own mirror of Debian's main archive, from what `apt-get --print-uris update` would fetch. */
export function mirrorFrom(printedUris: string): string | undefined {
  const suites = "(?:bookworm|trixie|forky|sid|oldstable|stable|testing|unstable)";
  return new RegExp(`^'(\\S+?)/dists/${suites}/main/`, "m").exec(printedUris)?.[1];
}

async function findMirror(context: FetchContext): Promise<string> {
  const answer = await run(context, "apt-get", ["--print-uris", "update"], context.staging);
  if (answer.code === 127) throw new SourceUnavailable("this machine has no apt-get");
  const mirror = mirrorFrom(answer.stdout);
  if (mirror === undefined)
    throw new SourceUnavailable("this machine's apt is not set up with a mirror of Debian");
  return mirror;
}

async function writeAptConfig(dir: string, mirror: string, suite: string): Promise<string[]> {
  await mkdir(path.join(dir, "lists", "partial"), { recursive: true });
  await mkdir(path.join(dir, "cache", "archives", "partial"), { recursive: true });
  const hasKeyring = await access(KEYRING, constants.R_OK).then(
    () => true,
    () => false,
  );
  const sources = path.join(dir, "sources.list");
  await writeFile(sources, `deb ${hasKeyring ? `[signed-by=${KEYRING}] ` : ""}${mirror} ${suite} main\n`);
  const settings = {
    "Dir::Etc::sourcelist": sources,
    "Dir::Etc::sourceparts": "-",
    "Dir::State::lists": path.join(dir, "lists"),
    "Dir::Cache": path.join(dir, "cache"),
    // The directory may be one that apt's own user cannot enter.
    "APT::Sandbox::User": "root",
    "Acquire::Languages": "none",
    "Acquire::IndexTargets::deb::DEP-11::DefaultEnabled": "false",
    "Acquire::Retries": "1",
    // Without this a suite that cannot be read is a mere warning.
    "APT::Update::Error-Mode": "any",
  };
  return ["-q", ...Object.entries(settings).flatMap(([name, value]) => ["-o", `${name}=${value}`])];
}

async function run(
  context: FetchContext,
  program: string,
  args: readonly string[],
  cwd: string,
): Promise<CommandResult> {
  const { env, signal } = context;
  return await runCommand(program, args, { cwd, env: { ...env, LC_ALL: "C" }, ...(signal && { signal }) });
}

function must(context: FetchContext, answer: CommandResult, what: string): void {
  if (answer.code === 0) return;
  if (saysNoSpace(answer.stderr)) throw noDisk(context.version, context.cache, `full while ${what}`);
  throw new SourceUnavailable(`${what} failed: ${answer.stderr.trim() || `exit code ${answer.code}`}`);
}
