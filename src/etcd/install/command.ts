/**
 * Runs a program to its end for the installer: output kept (bounded) and handed on line by line,
 * the whole process group ended when the caller gives up, so that no compiler is left behind.
 */
import { spawn } from "node:child_process";
import { setPriority } from "node:os";
import process from "node:process";
import { createInterface } from "node:readline";

export type Env = Readonly<Record<string, string | undefined>>;

export interface CommandOptions {
  readonly env: Env;
  readonly cwd?: string;
  readonly signal?: AbortSignal;
  /** Lower priority (a nice value), for builds that must not starve their neighbours. */
  readonly nice?: number;
  /** Lines of standard error as they come. */
  readonly onLine?: (line: string) => void;
}

export interface CommandResult {
  /** The exit code; 128 + n after signal n as shells count, 127 when the program is not there. */
  readonly code: number;
  readonly stdout: string;
  /** The last lines only. */
  readonly stderr: string;
}

const KEPT_LINES = 200;
const KEPT_STDOUT = 1 << 20;

export function runCommand(
  program: string,
  args: readonly string[],
  options: CommandOptions,
): Promise<CommandResult> {
  return new Promise((resolve, reject) => {
    if (options.signal?.aborted) {
      reject(asError(options.signal.reason));
      return;
    }
    const child = spawn(program, args, {
      cwd: options.cwd,
      env: { ...options.env },
      stdio: ["ignore", "pipe", "pipe"],
      detached: true,
    });
    const end = () => endGroup(child.pid);
    options.signal?.addEventListener("abort", end, { once: true });
    if (options.nice !== undefined && child.pid !== undefined) lowerPriority(child.pid, options.nice);

    let stdout = "";
    child.stdout.setEncoding("utf8");
    child.stdout.on("data", (text: string) => {
      if (stdout.length < KEPT_STDOUT) stdout += text;
    });
    const lines: string[] = [];
    createInterface({ input: child.stderr }).on("line", (line) => {
      lines.push(line);
      if (lines.length > KEPT_LINES) lines.shift();
      options.onLine?.(line);
    });

    child.once("error", (error: NodeJS.ErrnoException) => {
      options.signal?.removeEventListener("abort", end);
      if (error.code === "ENOENT" || error.code === "EACCES" || error.code === "ENOEXEC") {
        resolve({ code: 127, stdout, stderr: `${program}: ${error.message}` });
      } else reject(error);
    });
    child.once("close", (code, signal) => {
      options.signal?.removeEventListener("abort", end);
      if (options.signal?.aborted) reject(asError(options.signal.reason));
      else resolve({ code: code ?? (signal === "SIGKILL" ? 137 : 143), stdout, stderr: lines.join("\n") });
    });
  });
}

function endGroup(pid: number | undefined): void {
  if (pid === undefined) return;
  try {
    process.kill(-pid, "SIGKILL");
  } catch (error) {
    // Gone already: what we wanted.
    if ((error as NodeJS.ErrnoException).code !== "ESRCH") throw error;
  }
}

function lowerPriority(pid: number, nice: number): void {
  try {
    setPriority(pid, nice);
  } catch {
    // A courtesy only: it may have ended already, or the system may not allow it.
  }
}

function asError(reason: unknown): Error {
  return reason instanceof Error ? reason : new Error(String(reason ?? "aborted"));
}
