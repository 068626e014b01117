/**
 * Other programs as a port: run one to its end and take what it printed. For programs that a person may have to talk
 * to, such as the login of a cloud provider: they stay in our process group, so that Ctrl-C reaches them too.
 */
import { spawn } from "node:child_process";
import process from "node:process";

export interface ProgramRequest {
  /** Looked for in PATH unless it is a path. */
  readonly command: string;
  readonly args: readonly string[];
  /** Added to our own environment. */
  readonly env: Readonly<Record<string, string>>;
  /** Gets our standard input, and shows its standard error to the person at the terminal. */
  readonly interactive: boolean;
  /** Ends it. */
  readonly signal: AbortSignal;
}

export type ProgramResult =
  | { readonly kind: "ended"; readonly code: number; readonly stdout: string; readonly stderr: string }
  /** It is not there, or may not be executed. */
  | { readonly kind: "not-found"; readonly message: string }
  /** The signal ended it. */
  | { readonly kind: "aborted" };

export interface Programs {
  /** Whether a person is there to be asked. */
  readonly terminal: boolean;
  run(request: ProgramRequest): Promise<ProgramResult>;
}

/** More than any credential; a program that prints without end is cut off. */
const MOST_OUTPUT = 1 << 20;

export const systemPrograms: Programs = {
  get terminal() {
    return Boolean(process.stdin.isTTY && process.stderr.isTTY);
  },
  run: ({ command, args, env, interactive, signal }) =>
    new Promise((resolve) => {
      if (signal.aborted) {
        resolve({ kind: "aborted" });
        return;
      }
      const child = spawn(command, args, {
        env: { ...process.env, ...env },
        stdio: [interactive ? "inherit" : "ignore", "pipe", interactive ? "inherit" : "pipe"],
      });
      const end = () => {
        child.kill("SIGKILL");
        // What it left behind may hold its output open for ever.
        child.stdout?.destroy();
        child.stderr?.destroy();
      };
      signal.addEventListener("abort", end, { once: true });
      const texts = { stdout: "", stderr: "" };
      for (const name of ["stdout", "stderr"] as const) {
        child[name]?.setEncoding("utf8").on("data", (text: string) => {
          if (texts[name].length < MOST_OUTPUT) texts[name] += text;
        });
      }
      const settle = (result: ProgramResult) => {
        signal.removeEventListener("abort", end);
        resolve(signal.aborted ? { kind: "aborted" } : result);
      };
      child.once("error", (error) => settle({ kind: "not-found", message: error.message }));
      // When all of its output has come.
      child.once("close", (code) => settle({ kind: "ended", code: code ?? 1, ...texts }));
    }),
};
