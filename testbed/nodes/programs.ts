/**
 * The testbed's Go programs, each a small module beside this folder: built once, cached under a key of its sources.
 * CoreDNS and cert-manager are their upstreams with a main of ours; Helm, versitygw (an S3 server), fakegcs (a server like
 * Google Cloud Storage) and two programs of the VerticalPodAutoscaler are their upstreams as they are; the other two are
 * ours.
 */
import { execFileSync, spawn } from "node:child_process";
import { copyFileSync, existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { elapsed, missingGo, ToolMissing } from "../kubernetes-build.ts";
import type { Progress } from "../kubernetes-build.ts";
import { acquire } from "../lock.ts";
import { cacheDir, shortHash } from "../paths.ts";

/** What nodes need. */
const MODULES = ["steward", "csi", "coredns"] as const;
/** Where a module's program is, unless it is the module itself. */
const PACKAGES: Partial<Record<Program, string>> = {
  helm: "helm.sh/helm/v3/cmd/helm",
  versitygw: "github.com/versity/versitygw/cmd/versitygw",
  fakegcs: "github.com/fsouza/fake-gcs-server",
  "vpa-updater": "k8s.io/autoscaler/vertical-pod-autoscaler/pkg/updater",
  "vpa-admission": "k8s.io/autoscaler/vertical-pod-autoscaler/pkg/admission-controller",
};
/** The folder of a module that has more than one program. */
const FOLDERS: Partial<Record<Program, string>> = {
  "vpa-updater": "autoscaler",
  "vpa-admission": "autoscaler",
};
/** As the makers of Helm set them: the Kubernetes for which it renders without a server; 1.20 unless told. */
const VARIABLES: Partial<Record<Program, readonly string[]>> = {
  helm: ["pkg/chartutil", "pkg/lint/rules"].flatMap((path) =>
    ["Major=1", "Minor=32"].map((value) => `-X helm.sh/helm/v3/${path}.k8sVersion${value}`),
  ),
};

/** What a program is of no use without, from its upstream's module. */
const FILES: Partial<Record<Program, { readonly module: string; readonly folder: string }>> = {
  certmanager: { module: "github.com/cert-manager/cert-manager", folder: "deploy/crds" },
  "vpa-admission": { module: "k8s.io/autoscaler/vertical-pod-autoscaler", folder: "deploy" },
};

type NodeProgram = (typeof MODULES)[number];
type Upstream = "helm" | "versitygw" | "fakegcs" | "certmanager" | "vpa-updater" | "vpa-admission";
export type Program = NodeProgram | Upstream;
export type Programs = Record<NodeProgram, string>;

function sources(name: Program): string {
  return join(import.meta.dirname, "..", FOLDERS[name] ?? name);
}

function flags(name: Program): string[] {
  return ["-trimpath", "-ldflags", ["-s", "-w", ...(VARIABLES[name] ?? [])].join(" ")];
}

function target(name: Program): string {
  const files = readdirSync(sources(name)).filter((file) => /\.go$|^go\.(mod|sum)$/.test(file));
  const texts = files.sort().flatMap((file) => [file, readFileSync(join(sources(name), file), "utf8")]);
  return join(cacheDir(), "programs", `${name}-${process.arch}-${shortHash(...texts, ...flags(name))}`);
}

/** Those that are still to be built. */
export function unbuiltPrograms(): NodeProgram[] {
  return MODULES.filter((name) => !existsSync(target(name)));
}

export async function ensurePrograms(progress: Progress): Promise<Programs> {
  // One after the other: each build takes every core it can get.
  for (const name of unbuiltPrograms()) await ensureProgram(name, progress);
  return Object.fromEntries(MODULES.map((name) => [name, target(name)])) as Programs;
}

export function isBuilt(name: Upstream): boolean {
  return existsSync(target(name));
}

/** The folder beside a program with what else it needs. */
export function filesOf(name: Upstream): string {
  return `${target(name)}.files`;
}

/** Where an upstream is; built first if it is not there. */
export async function ensureUpstream(name: Upstream, progress: Progress = () => {}): Promise<string> {
  if (!isBuilt(name)) await ensureProgram(name, progress);
  return target(name);
}

async function ensureProgram(name: Program, progress: Progress): Promise<void> {
  const file = target(name);
  const lock = await acquire(file, {
    purpose: `building ${name}`,
    waiting: (holder) => progress(`waiting for another process: ${holder}`),
  });
  try {
    if (existsSync(file)) return;
    mkdirSync(join(cacheDir(), "programs"), { recursive: true });
    const work = `${file}.building`;
    rmSync(work, { force: true });
    await compile(name, work, progress);
    copyFiles(name, `${file}.files`);
    renameSync(work, file);
  } finally {
    await lock.release();
  }
}

/** From the module that was just compiled. */
function copyFiles(name: Program, to: string): void {
  const from = FILES[name];
  if (!from) return;
  const args = ["list", "-m", "-f", "{{.Dir}}", from.module];
  const dir = execFileSync("go", args, { cwd: sources(name), encoding: "utf8" }).trim();
  rmSync(to, { recursive: true, force: true });
  mkdirSync(to);
  for (const file of readdirSync(join(dir, from.folder)))
    copyFileSync(join(dir, from.folder, file), join(to, file));
}

async function compile(name: Program, work: string, progress: Progress): Promise<void> {
  const lacking = missingGo();
  if (lacking) throw new ToolMissing(`${name} is built from its Go module: ${lacking}`);
  const started = Date.now();
  let compiled = 0;
  const tick = setInterval(
    () => progress(`building ${name}: ${elapsed(started)}, ${compiled} packages compiled`),
    1000,
  );
  const last: string[] = [];
  try {
    const child = spawn("go", ["build", "-v", ...flags(name), "-o", work, PACKAGES[name] ?? "."], {
      cwd: sources(name),
      env: { ...process.env, CGO_ENABLED: "0" },
      stdio: ["ignore", "ignore", "pipe"],
    });
    const exited = new Promise<number | null>((resolve, reject) =>
      child.on("error", reject).on("close", resolve),
    );
    for await (const line of createInterface({ input: child.stderr })) {
      last.push(line);
      if (last.length > 20) last.shift();
      if (/^\S+$/.test(line)) compiled++;
    }
    const code = await exited;
    if (code !== 0)
      throw new Error(`building ${name} failed (go build, exit code ${code}):\n${last.join("\n")}`);
  } finally {
    clearInterval(tick);
  }
}
