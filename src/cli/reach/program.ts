/** Programs of the user's machine: found in PATH, and run with the terminal as their own. */
import { spawn } from "node:child_process";
import { accessSync, constants, statSync } from "node:fs";
import path from "node:path";
import { CommandError, EXIT } from "../exit.ts";
import type { CliIo } from "../io.ts";

/** The program of this name in PATH. */
export function inPath(name: string, env: CliIo["env"]): string | undefined {
  const directories = (env["PATH"] ?? "").split(path.delimiter).filter((dir) => dir !== "");
  return directories.map((dir) => path.join(dir, name)).find(isProgram);
}

export function isProgram(file: string): boolean {
  try {
    accessSync(file, constants.X_OK);
    return statSync(file).isFile();
  } catch {
    return false;
  }
}

/**
 * Runs it to its end; the answer is its exit code. Ctrl-C reaches it from the terminal by itself; when we are told to
 * end, so is it, and its end is waited for: it may be using what we have opened for it.
 */
export function runAttached(
  program: string,
  args: readonly string[],
  env: Readonly<Record<string, string | undefined>>,
  io: CliIo,
  stop: "SIGTERM" | "SIGHUP" = "SIGTERM",
): Promise<number> {
  return new Promise((resolve, reject) => {
    const child = spawn(program, args, { env, cwd: io.cwd, stdio: "inherit" });
    const end = () => child.kill(stop);
    io.signal.addEventListener("abort", end, { once: true });
    child.once("error", (error) => {
      io.signal.removeEventListener("abort", end);
      reject(new CommandError(EXIT.failed, `cannot start ${program}: ${error.message}`, { cause: error }));
    });
    child.once("exit", (code, signal) => {
      io.signal.removeEventListener("abort", end);
      resolve(code ?? (signal === "SIGINT" ? 130 : 143));
    });
  });
}
