/**
 * A static build from etcd's Go modules. etcd's programs have replace directives, so `go install` refuses
 * them; a small module that requires them builds them all the same. Every module is checked by the go
 * command against the checksum database, and the modules' versions follow from etcd's own go.mod.
 */
import { mkdir, writeFile } from "node:fs/promises";
import path from "node:path";
import { programsOf, type Program } from "./binaries.ts";
import { requireSpace } from "./cache.ts";
import { runCommand } from "./command.ts";
import { EtcdInstallError, noDisk, saysNoSpace, SourceUnavailable } from "./errors.ts";
import type { FetchContext } from "./release.ts";

const MODULES: Readonly<Record<Program, string>> = {
  etcd: "go.etcd.io/etcd/server/v3",
  etcdctl: "go.etcd.io/etcd/etcdctl/v3",
  etcdutl: "go.etcd.io/etcd/etcdutl/v3",
};
/** The programs, what the linker needs meanwhile, and a first filling of Go's own caches. */
const SPACE_NEEDED = 600 * 2 ** 20;
/** Builds give way to what the machine is used for. */
const NICE = 5;

export async function buildFromGo(context: FetchContext): Promise<string> {
  const { version, staging, report } = context;
  const go = await runCommand("go", ["env", "GOVERSION"], { env: context.env });
  if (go.code !== 0) {
    throw new SourceUnavailable(
      "there is no working go on PATH (Go 1.21 or later can fetch the version it needs)",
    );
  }
  await requireSpace(staging, SPACE_NEEDED, version);
  const module = path.join(staging, "module");
  const programs = path.join(staging, "programs");
  await mkdir(module);
  await mkdir(programs);
  await writeFile(path.join(module, "go.mod"), goMod(version));
  report.step(`building from Go modules with ${go.stdout.trim()}`);
  const counts = { downloaded: 0, compiled: 0 };
  for (const program of programsOf(version)) {
    await build(context, module, program, path.join(programs, program), counts);
  }
  return programs;
}

/** The generated module: requires etcd's programs at one version, nothing else. */
export function goMod(version: string): string {
  const requires = Object.values(MODULES).map((name) => `\t${name} v${version}\n`);
  return `module quorate.local/etcd\n\ngo 1.21\n\nrequire (\n${requires.join("")})\n`;
}

async function build(
  context: FetchContext,
  module: string,
  program: Program,
  output: string,
  counts: { downloaded: number; compiled: number },
): Promise<void> {
  const { version, env, signal, report } = context;
  const answer = await runCommand("go", buildArguments(version, program, output), {
    cwd: module,
    // A workspace around the cache directory must not change what is built.
    env: { ...env, CGO_ENABLED: "0", GOWORK: "off" },
    nice: NICE,
    ...(signal && { signal }),
    onLine(line) {
      if (line.startsWith("go: downloading")) counts.downloaded++;
      else if (!line.startsWith("go: ")) counts.compiled++;
      report.detail(
        `building ${program} from Go modules, ${counts.downloaded} modules fetched, ${counts.compiled} packages compiled`,
      );
    },
  });
  if (answer.code === 0) return;
  if (saysNoSpace(answer.stderr)) throw noDisk(version, context.cache, "full while building");
  throw buildFailed(version, program, answer.stderr);
}

export function buildArguments(version: string, program: Program, output: string): string[] {
  // etcd prints GitSHA with its version; the module's version is the most exact name we have for the source.
  const flags = `-s -w -X go.etcd.io/etcd/api/v3/version.GitSHA=v${version}`;
  const options = ["-v", "-mod=mod", "-buildvcs=false", "-trimpath", "-ldflags", flags];
  return ["build", ...options, "-o", output, MODULES[program]];
}

function buildFailed(version: string, program: Program, output: string): EtcdInstallError {
  const lines = output.split("\n").filter((line) => line !== "" && !line.startsWith("go: downloading"));
  const hint = /toolchain|requires go >=/.test(output)
    ? "A newer Go is needed: install it, or let Go fetch it with GOTOOLCHAIN=auto."
    : "If the module proxy could not be reached, run it again when it can; or use your own binaries with QUORATE_ETCD_DIR.";
  return new EtcdInstallError(
    "build-failed",
    version,
    `Building ${program} ${version} from Go modules failed:\n${lines.slice(-15).join("\n")}\n${hint}`,
  );
}
