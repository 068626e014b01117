/** Runs one tool in a process of its own, with some modules replaced, and tells how it ended. */
import { spawn } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { systemClock } from "../../src/seams/clock.ts";

export const root = fileURLToPath(new URL("../..", import.meta.url));
const SIGNALLED = 128;
const OVERLAY = fileURLToPath(new URL("overlay.ts", import.meta.url));

export interface Ended {
  /** Undefined: it was ended, since it took too long or from outside. Nothing follows from that. */
  readonly code: number | undefined;
  /** What ended it, if not its limit of time. */
  readonly interruptedBy?: string;
  readonly output: string;
  readonly ms: number;
}

export interface ToolRun {
  readonly args: readonly string[];
  readonly limitMs: number;
  /** Module paths from the root, with the source to use instead. */
  readonly replaced?: Readonly<Record<string, string>>;
  readonly env?: Readonly<Record<string, string>>;
  readonly onLine?: (line: string) => void;
  /** What it says when it has found something: it is ended then, since the rest may take long. */
  readonly found?: RegExp;
}

/** Of a line that came in two pieces, the first. */
const MOST_BEFORE = 500;

/** `node <args>` from the root of the checkout. */
export async function runTool({ args, limitMs, replaced, env, onLine, found }: ToolRun): Promise<Ended> {
  const began = systemClock.monotonic();
  const folder = await mkdtemp(join(tmpdir(), "quorate-proof-"));
  try {
    const overlay = join(folder, "overlay.json");
    const byURL = Object.entries(replaced ?? {}).map(([path, text]) => [
      new URL(`../../${path}`, import.meta.url),
      text,
    ]);
    await writeFile(overlay, JSON.stringify(Object.fromEntries(byURL)));
    const nodeArgs = replaced ? ["--import", OVERLAY, ...args] : [...args];
    const child = spawn(process.execPath, nodeArgs, {
      cwd: root,
      env: { ...process.env, NODE_NO_WARNINGS: "1", ...env, ...(replaced && { QUORATE_OVERLAY: overlay }) },
      stdio: ["ignore", "pipe", "pipe"],
    });
    let output = "";
    let hasFound = false;
    const take = (chunk: Buffer) => {
      const text = chunk.toString();
      output = `${output}${text}`.slice(-200_000);
      if (found?.test(output.slice(-text.length - MOST_BEFORE))) {
        hasFound = true;
        child.kill("SIGKILL");
      }
      if (onLine) for (const line of text.split("\n")) if (line.trim()) onLine(line);
    };
    child.stdout.on("data", take);
    child.stderr.on("data", take);
    let isOverdue = false;
    const limit = systemClock.timer(limitMs, () => {
      isOverdue = true;
      child.kill("SIGKILL");
    });
    const [code, signal] = await new Promise<[number | null, NodeJS.Signals | null]>((resolve, reject) => {
      child.once("error", reject);
      child.once("close", (...ended) => resolve(ended));
    });
    limit.cancel();
    const ms = systemClock.monotonic() - began;
    if (hasFound) return { code: 1, output, ms };
    if (isOverdue) return { code: undefined, output, ms };
    // A program that handles a signal ends with 128 and its number.
    const isInterrupted = code === null || code > SIGNALLED;
    if (isInterrupted) return { code: undefined, interruptedBy: signal ?? `exit ${code}`, output, ms };
    return { code, output, ms };
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}
