/**
 * From `quorate <verb> …` to the file of that verb. Nothing of a verb is loaded before it is called
 * (`quorate --help` asks each for its one line). Errors become one line and an exit code here.
 */
import { commandOf, programOf } from "./called.ts";
import { CommandError, EXIT } from "./exit.ts";
import { UsageError, type CliIo, type Verbs } from "./io.ts";
import { pickVerb, summariesOf, usageText } from "./verb.ts";

/** The exit codes are in exit.ts. */
export async function dispatch(
  argv: readonly string[],
  verbs: Verbs,
  version: string,
  io: CliIo,
): Promise<number> {
  const own = ownPart(argv);
  const debug = own.includes("--debug") || Boolean(io.env["QUORATE_DEBUG"]);
  const [name, ...args] = [...own.filter((arg) => arg !== "--debug"), ...argv.slice(own.length)];
  try {
    if (name === undefined || name === "--help" || name === "-h" || name === "help") {
      const about = args[0] === undefined ? await overview(verbs, io) : await usageOf(args, verbs, io);
      io.stdout.write(ensureNewline(about));
      return EXIT.done;
    }
    if (name === "--version" || name === "-V") {
      io.stdout.write(`quorate ${version}\n`);
      return EXIT.done;
    }
    if (ownPart(args).some((arg) => arg === "--help" || arg === "-h")) {
      io.stdout.write(ensureNewline(await usageOf([name, ...args], verbs, io)));
      return EXIT.done;
    }
    return await (await pickVerb(name, verbs, io)).run(args, io);
  } catch (error) {
    return report(error, debug, io);
  }
}

/** `local kill m1`: as deep as there are verbs, the text of the last one. */
async function usageOf(
  [name = "", ...args]: readonly string[],
  verbs: Verbs,
  io: CliIo,
  under?: string,
): Promise<string> {
  const verb = await pickVerb(name, verbs, io, under);
  const next = args.find((arg) => !arg.startsWith("-"));
  const path = under === undefined ? name : `${under} ${name}`;
  return verb.verbs && next !== undefined
    ? await usageOf(args.slice(args.indexOf(next)), verb.verbs, io, path)
    : await usageText(verb, io);
}

/** Everything after `--` belongs to somebody else's program. */
function ownPart(args: readonly string[]): readonly string[] {
  const end = args.indexOf("--");
  return end < 0 ? args : args.slice(0, end);
}

async function overview(verbs: Verbs, io: CliIo): Promise<string> {
  const command = commandOf(io);
  const listed = await summariesOf(verbs);
  const width = Math.max(...listed.map(([name]) => name.length));
  const lines = listed.map(([name, summary]) => `  ${name.padEnd(width)}  ${summary}`);
  return `Quorate runs and operates etcd clusters.

Usage: ${command} <verb> [arguments] [flags]

${lines.join("\n")}

Run ${command} <verb> --help for details. --version prints the version; --debug adds stack traces to errors.
`;
}

function report(error: unknown, debug: boolean, io: CliIo): number {
  const known = error instanceof Error ? error : new Error(String(error));
  if (io.signal.aborted && isAbort(known, io.signal)) return EXIT.interrupted;
  io.stderr.write(
    ensureNewline(`${programOf(io)}: ${debug && known.stack ? known.stack : messageOf(known)}`),
  );
  if (known instanceof UsageError) return EXIT.usage;
  return known instanceof CommandError ? known.code : EXIT.failed;
}

/** The user ended it: not an error. */
function isAbort(error: Error, signal: AbortSignal): boolean {
  return error === signal.reason || error.name === "AbortError" || error.cause === signal.reason;
}

/** An AggregateError (a connection tried on several addresses) often has an empty message of its own. */
function messageOf(error: Error): string {
  if (error.message) return error.message;
  if (error instanceof AggregateError) return error.errors.map((one) => String(one)).join("; ");
  return error.name;
}

function ensureNewline(text: string): string {
  return text.endsWith("\n") ? text : `${text}\n`;
}
