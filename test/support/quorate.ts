/**
 * The program `quorate` as a person runs it: as a process of its own, with its own data directory. What it
 * leaves behind, controllers and etcd members, is ended with the test.
 */
import { execFileSync, spawn, spawnSync, type ChildProcess, type SpawnOptions } from "node:child_process";
import { chmodSync, mkdirSync, mkdtempSync, rmSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import process from "node:process";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { systemProcesses } from "../../src/seams/processes.ts";
import type { LocalReport } from "../../src/local/operations.ts";
import { eventually } from "../../testbed/eventually.ts";
import { Calls } from "./calls.ts";
import { tell } from "./tell.ts";

const ROOT = fileURLToPath(new URL("../../", import.meta.url));
const MAIN = path.join(ROOT, "src/cli/main.ts");
const PATIENCE_MS = 120_000;

export interface Ended {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** A line of `quorate local up -o json`. */
export interface UpEvent {
  readonly event: string;
  readonly at: number;
  readonly converged?: boolean;
  readonly readyReplicas?: number;
  readonly step?: string;
  readonly member?: string;
  readonly environment?: Readonly<Record<string, string>>;
}

/** A home for clusters, with everything that ran in it ended at the end. */
export class Home implements AsyncDisposable {
  readonly dir = mkdtempSync(path.join(os.tmpdir(), "quorate-cli-"));
  readonly #ups: Up[] = [];
  readonly #options: SpawnOptions;
  readonly #program: Program = { node: process.execPath, main: MAIN };

  constructor(options: SpawnOptions = {}) {
    this.#options = options;
    if (options.uid === undefined) return;
    chmodSync(this.dir, 0o777);
    this.#program = programFor(options, path.join(this.dir, "program"));
  }

  clusterDir(name = "etcd"): string {
    return path.join(this.dir, "quorate", name);
  }

  spawn(args: readonly string[]): ChildProcess {
    const env = { ...process.env, XDG_DATA_HOME: this.dir, ...this.#options.env };
    return spawn(this.#program.node, [this.#program.main, ...args], { ...this.#options, env });
  }

  /** What this test file called, in any home. */
  static readonly #calls = Calls.ofEveryVerb();

  /** Every verb that this test file has to prove was called with success. */
  static async assertProven(file: string): Promise<void> {
    (await Home.#calls).assertProven(file);
  }

  /** Runs a verb to its end. */
  async run(...args: string[]): Promise<Ended> {
    const child = this.spawn(args);
    let [stdout, stderr] = ["", ""];
    child.stdout?.setEncoding("utf8").on("data", (chunk: string) => (stdout += chunk));
    child.stderr?.setEncoding("utf8").on("data", (chunk: string) => (stderr += chunk));
    const code = await new Promise<number | null>((resolve) => {
      child.once("close", resolve);
    });
    (await Home.#calls).record(args, code);
    tell("output of commands", [args.join(" "), stdout, stderr].join("\n"));
    return { code, stdout, stderr };
  }

  /** Runs a verb of `quorate local` that must succeed, and reads its JSON. */
  async json<T>(...args: string[]): Promise<T> {
    const { code, stdout, stderr } = await this.run("local", ...args, "-o", "json");
    if (code !== 0) throw new Error(`quorate local ${args.join(" ")} ended with ${code}: ${stderr}`);
    return JSON.parse(stdout) as T;
  }

  async status(...place: string[]): Promise<LocalReport> {
    return await this.json<LocalReport>("status", ...place);
  }

  /** `quorate local up`, in the background. */
  up(...args: string[]): Up {
    const up = new Up(this.spawn(["local", "up", ...args, "-o", "json"]));
    this.#ups.push(up);
    void Promise.all([Home.#calls, up.ended]).then(([calls, code]) => calls.record(["local", "up"], code));
    return up;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const up of this.#ups) up.signal("SIGKILL");
    await Promise.all(this.#ups.map((up) => up.ended));
    for (const identity of await membersUnder(this.dir)) {
      (await systemProcesses.adopt(identity))?.signal("SIGKILL");
    }
    // Not before they have ended: they may still write into it.
    await eventually("its members have ended", async () => (await membersUnder(this.dir)).length === 0);
    rmSync(this.dir, { recursive: true, force: true });
  }
}

interface Program {
  readonly node: string;
  readonly main: string;
}

/** The program where this user can read it: here, or in a copy where the checkout is closed to them. */
function programFor({ uid, gid }: SpawnOptions, copy: string): Program {
  const here = { node: process.execPath, main: MAIN };
  if (spawnSync(here.node, [here.main, "--version"], { uid, gid }).status === 0) return here;
  mkdirSync(copy);
  for (const part of ["src", "package.json", "node_modules"]) {
    execFileSync("cp", ["-r", path.join(ROOT, part), copy]);
  }
  execFileSync("cp", [process.execPath, path.join(copy, "node")]);
  execFileSync("chmod", ["-R", "a+rX", copy]);
  return { node: path.join(copy, "node"), main: path.join(copy, "src/cli/main.ts") };
}

/** etcd processes whose configuration lies under this directory. */
export async function membersUnder(dir: string) {
  const { readdir, readFile } = await import("node:fs/promises");
  const pids = (await readdir("/proc")).filter((name) => /^\d+$/.test(name));
  const found = await Promise.all(
    pids.map(async (pid) => {
      const line = await readFile(`/proc/${pid}/cmdline`, "utf8").catch(() => "");
      const argument = line.split("\0").find((part) => part.startsWith(`--config-file=${dir}/`));
      return argument === undefined ? [] : await systemProcesses.find(argument);
    }),
  );
  return found.flat();
}

export class Up {
  readonly events: UpEvent[] = [];
  readonly ended: Promise<number | null>;
  readonly startedAt = performance.now();
  readonly #child: ChildProcess;
  #stderr = "";
  #onEvent = () => undefined as void;

  constructor(child: ChildProcess) {
    this.#child = child;
    child.stderr?.setEncoding("utf8").on("data", (chunk: string) => {
      this.#stderr += chunk;
      tell("output of quorate local up", chunk);
    });
    if (child.stdout) {
      createInterface({ input: child.stdout }).on("line", (line) => {
        tell("output of quorate local up", line);
        this.events.push(JSON.parse(line) as UpEvent);
        this.#onEvent();
      });
    }
    this.ended = new Promise((resolve) => {
      child.once("close", (code) => {
        resolve(code);
        this.#onEvent();
      });
    });
  }

  get pid(): number {
    return this.#child.pid ?? 0;
  }

  signal(name: NodeJS.Signals): void {
    this.#child.kill(name);
  }

  /** The first event from `from` on that satisfies. */
  async until(what: string, holds: (event: UpEvent) => boolean, from = 0): Promise<UpEvent> {
    const end = performance.now() + PATIENCE_MS;
    for (;;) {
      const found = this.events.slice(from).find(holds);
      if (found) return found;
      const left = end - performance.now();
      const over = this.#child.exitCode !== null || this.#child.signalCode !== null;
      if (left <= 0 || over) throw new Error(`${what}: did not come\n${this.story()}`);
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, Math.min(left, 500));
        this.#onEvent = () => (clearTimeout(timer), resolve());
      });
    }
  }

  async settled(from = 0): Promise<UpEvent> {
    return await this.until(
      "converged",
      (event) => event.event === "state" && event.converged === true,
      from,
    );
  }

  story(): string {
    return [...this.events.map((event) => JSON.stringify(event)), this.#stderr].join("\n");
  }
}
