/**
 * Kubernetes, built from Go modules: one multi-call program for the whole control plane and the nodes.
 * Cached outside the checkout under a key of everything that goes into it; built once, however many ask.
 */
import { spawn, spawnSync } from "node:child_process";
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { acquire } from "./lock.ts";
import { cacheDir, shortHash } from "./paths.ts";

const SOURCES = join(import.meta.dirname, "kubernetes");
const COMMANDS = [
  "kube-apiserver",
  "kube-controller-manager",
  "kube-scheduler",
  "kubelet",
  "kube-proxy",
  "kubectl",
];

export type Progress = (line: string) => void;

export interface Kubernetes {
  version: string;
  /** Holds one link per command, named after it. */
  bin: string;
  /** 0 when it came from the cache. */
  builtInMs: number;
}

export class ToolMissing extends Error {}

/** Where the built program is, or will be. */
export function kubernetesTarget(): { version: string; dir: string; built: boolean } {
  const files = ["go.mod", "go.sum", "main.go"].map((name) => readFileSync(join(SOURCES, name), "utf8"));
  const version = /k8s\.io\/kubernetes (v[\d.]+)/.exec(files[0] ?? "")?.[1];
  if (!version) throw new Error(`${SOURCES}/go.mod requires no k8s.io/kubernetes`);
  const dir = join(
    cacheDir(),
    "kubernetes",
    `${version}-${process.arch}-${shortHash(...files, ...flags(version))}`,
  );
  return { version, dir, built: existsSync(join(dir, "kubernetes")) };
}

export async function ensureKubernetes(progress: Progress = () => {}): Promise<Kubernetes> {
  const { version, dir } = kubernetesTarget();
  const done = (builtInMs: number): Kubernetes => ({ version, bin: dir, builtInMs });
  if (existsSync(join(dir, "kubernetes"))) return done(0);
  const lock = await acquire(dir, {
    purpose: `building Kubernetes ${version}`,
    waiting: (holder) => progress(`waiting for another process: ${holder}`),
  });
  try {
    if (existsSync(join(dir, "kubernetes"))) return done(0);
    const started = Date.now();
    const parent = join(cacheDir(), "kubernetes");
    mkdirSync(parent, { recursive: true });
    // Leftovers of a build that was killed: we hold the lock, so nobody is writing there.
    for (const entry of readdirSync(parent)) {
      if (entry.startsWith(".building-")) rmSync(join(parent, entry), { recursive: true, force: true });
    }
    const work = join(parent, `.building-${process.pid}`);
    mkdirSync(work);
    try {
      await compile(version, join(work, "kubernetes"), progress);
      for (const command of COMMANDS) symlinkSync("kubernetes", join(work, command));
      rmSync(dir, { recursive: true, force: true });
      renameSync(work, dir);
    } finally {
      rmSync(work, { recursive: true, force: true });
    }
    return done(Date.now() - started);
  } finally {
    await lock.release();
  }
}

/** Says what is needed to build, or nothing when it can be built. */
export function missingGo(): string | undefined {
  const go = spawnSync("go", ["env", "GOVERSION", "GOTOOLCHAIN"], { cwd: SOURCES, encoding: "utf8" });
  if (go.error) {
    return "Go is not on PATH. Kubernetes is built from source once (about 9 minutes on two cores): install Go 1.26, or any Go from 1.21 on, which fetches the 1.26 it needs";
  }
  if (go.status !== 0)
    return `Go cannot build Kubernetes here: ${go.stderr.trim() || `exit code ${go.status}`}`;
  return undefined;
}

function flags(version: string): string[] {
  const [major, minor] = version.slice(1).split(".");
  const set = { gitVersion: version, gitMajor: major, gitMinor: minor, gitTreeState: "clean" };
  // Without these `--version` is not a semantic version, and the components refuse each other.
  const variables = ["k8s.io/component-base/version", "k8s.io/client-go/pkg/version"].flatMap((path) =>
    Object.entries(set).map(([name, value]) => `-X ${path}.${name}=${value}`),
  );
  return ["-trimpath", "-ldflags", ["-s", "-w", ...variables].join(" ")];
}

async function compile(version: string, target: string, progress: Progress): Promise<void> {
  const lacking = missingGo();
  if (lacking) throw new ToolMissing(lacking);
  const env = { ...process.env, CGO_ENABLED: "0" };
  const started = Date.now();
  let compiled = 0;
  let now = "fetching modules, or linking";
  const total = countPackages(env);
  const tick = setInterval(() => {
    const of = total.count ? ` of at most ${total.count}` : "";
    progress(
      `building Kubernetes ${version}: ${elapsed(started)}, ${compiled}${of} packages compiled (${now})`,
    );
  }, 1000);
  const last: string[] = [];
  try {
    const child = spawn("go", ["build", "-v", ...flags(version), "-o", target, "."], {
      cwd: SOURCES,
      env,
      stdio: ["ignore", "ignore", "pipe"],
    });
    const exited = new Promise<number | null>((resolve, reject) =>
      child.on("error", reject).on("close", resolve),
    );
    for await (const line of createInterface({ input: child.stderr })) {
      last.push(line);
      if (last.length > 20) last.shift();
      if (line.startsWith("go: downloading ")) now = line.slice(4);
      else if (/^\S+$/.test(line)) {
        compiled++;
        now = line;
      }
    }
    const code = await exited;
    if (code !== 0) {
      throw new Error(
        `building Kubernetes ${version} failed (go build, exit code ${code}):\n${last.join("\n")}`,
      );
    }
  } finally {
    clearInterval(tick);
    total.cancel();
  }
}

/** Counts in the background: on a cold module cache listing alone takes a while. */
function countPackages(env: NodeJS.ProcessEnv): { count?: number; cancel(): void } {
  const child = spawn("go", ["list", "-deps", "."], {
    cwd: SOURCES,
    env,
    stdio: ["ignore", "pipe", "ignore"],
  });
  const result: { count?: number; cancel(): void } = { cancel: () => child.kill() };
  let lines = 0;
  child.stdout.on("data", (chunk: Buffer) => {
    for (const byte of chunk) if (byte === 10) lines++;
  });
  child.on("error", () => {});
  child.on("close", (code) => {
    if (code === 0) result.count = lines;
  });
  return result;
}

export function elapsed(since: number): string {
  const seconds = Math.round((Date.now() - since) / 1000);
  return seconds < 60 ? `${seconds} s` : `${Math.floor(seconds / 60)} min ${seconds % 60} s`;
}
