/**
 * What a verb of the command line may touch: its streams, its surroundings, time and randomness.
 * A verb takes this as an argument instead of reaching for globals, so a test can run it in-process.
 */
import process from "node:process";
import { isSea } from "node:sea";
import { systemClock, type Clock } from "../seams/clock.ts";
import { systemRandom, type Random } from "../seams/random.ts";
import { calledAs } from "./called.ts";
import type { Target } from "./target/target.ts";
import type { GroupData, VerbData } from "./verb-data.ts";

/** Where text goes. `process.stdout` is one; a test collects into an array. */
export interface Output {
  write(text: string): unknown;
  /** Unset when the output is not a terminal. */
  readonly columns?: number;
  /** The same; a pseudo terminal may not know them, and says 0. */
  readonly rows?: number;
}

export interface CliIo {
  readonly stdin: NodeJS.ReadableStream;
  /** Results: what a script reads. */
  readonly stdout: Output;
  /** Progress, warnings and errors: what a person reads. */
  readonly stderr: Output;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Relative paths in arguments are relative to this. */
  readonly cwd: string;
  /** Both output streams are a terminal: colours and rewritten progress lines are welcome. */
  readonly isTTY: boolean;
  /** Aborts on the first SIGINT or SIGTERM; a second one ends the process at once. */
  readonly signal: AbortSignal;
  readonly clock: Clock;
  readonly random: Random;
  /** The program as the user called it, for hints; see called.ts. */
  readonly command?: string;
  /** How this program is started once more; absent: it is not. */
  readonly program?: { readonly command: string; readonly args: readonly string[] };
  /** Where clusters are, instead of what the flags say: a test's own. */
  readonly target?: Target;
}

/** A verb is one file in this folder; `main.ts` imports it only when it is called. */
export interface Verb {
  /** One line for the list of verbs. */
  readonly summary: string;
  /** The text of `<command> <verb> --help`; `command` is the program as the user called it. */
  readonly usage: string | ((command: string) => string | Promise<string>);
  /** What help, completion and the reference page are made from. */
  readonly data?: VerbData;
  readonly group?: GroupData;
  /** A verb with verbs of its own: `quorate <verb> <one of these> --help` finds the text. */
  readonly verbs?: Verbs;
  /** Gets the arguments after the verb; the answer is the exit code. */
  readonly run: (args: string[], io: CliIo) => Promise<number>;
}

/** One line per verb: its name, and how to load it. */
export type Verbs = Readonly<Record<string, () => Promise<Verb>>>;

/** The caller asked for something that cannot be: printed without a stack, exit code 2. */
export class UsageError extends Error {
  override name = "UsageError";
}

/** The surroundings of this process. `signal` is made by `main.ts`, which owns the signal handlers. */
export function processIo(signal: AbortSignal): CliIo {
  return {
    stdin: process.stdin,
    stdout: process.stdout,
    stderr: process.stderr,
    env: process.env,
    cwd: process.cwd(),
    isTTY: Boolean(process.stdout.isTTY && process.stderr.isTTY),
    signal,
    clock: systemClock,
    random: systemRandom,
    command: calledAs({ programs: [process.argv0, process.argv[1]], env: process.env }),
    program: thisProgram(),
  };
}

/** An executable is the program itself; otherwise Node runs the script that was called. */
function thisProgram(): NonNullable<CliIo["program"]> {
  const script = isSea() ? undefined : process.argv[1];
  return { command: process.execPath, args: script === undefined ? [] : [script] };
}
