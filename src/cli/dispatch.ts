/**
 * From `quorate <verb> …` to the file of that verb. Nothing of a verb is loaded before it is called
 * (`quorate --help` asks each for its one line). Errors become one line and an exit code here.
 */
import { nearest } from "../api/suggest.ts";
import { UsageError, type CliIo, type Verb, type Verbs } from "./io.ts";

/** Exit codes: 0 done, 1 it failed, 2 the command line was wrong. */
export async function dispatch(
  argv: readonly string[],
  verbs: Verbs,
  version: string,
  io: CliIo,
): Promise<number> {
  const debug = argv.includes("--debug") || Boolean(io.env["QUORATE_DEBUG"]);
  const [name, ...args] = argv.filter((arg) => arg !== "--debug");
  try {
    if (name === undefined || name === "--help" || name === "-h" || name === "help") {
      const about = args[0] === undefined ? await overview(verbs) : await usageOf(args, verbs);
      io.stdout.write(ensureNewline(about));
      return 0;
    }
    if (name === "--version" || name === "-V" || name === "version") {
      io.stdout.write(`quorate ${version}\n`);
      return 0;
    }
    if (asksForHelp(args)) {
      io.stdout.write(ensureNewline(await usageOf([name, ...args], verbs)));
      return 0;
    }
    return await (await load(name, verbs)).run(args, io);
  } catch (error) {
    return report(error, debug, io);
  }
}

async function load(name: string, verbs: Verbs): Promise<Verb> {
  const loader = Object.hasOwn(verbs, name) ? verbs[name] : undefined;
  if (loader) return await loader();
  const names = Object.keys(verbs);
  const near = names.find((known) => name !== "" && known.startsWith(name)) ?? nearest(name, names);
  const hint = near === undefined ? `One of: ${names.join(", ")}.` : `Did you mean ${near}?`;
  throw new UsageError(`unknown verb ${JSON.stringify(name)}. ${hint} See quorate --help.`);
}

/** `local kill m1`: as deep as there are verbs, the text of the last one. */
async function usageOf([name = "", ...args]: readonly string[], verbs: Verbs): Promise<string> {
  const verb = await load(name, verbs);
  const next = args.find((arg) => !arg.startsWith("-"));
  return verb.verbs && next !== undefined
    ? await usageOf(args.slice(args.indexOf(next)), verb.verbs)
    : verb.usage;
}

/** Everything after `--` belongs to somebody else's program. */
function asksForHelp(args: readonly string[]): boolean {
  const end = args.indexOf("--");
  return (end < 0 ? args : args.slice(0, end)).some((arg) => arg === "--help" || arg === "-h");
}

async function overview(verbs: Verbs): Promise<string> {
  const names = Object.keys(verbs);
  const width = Math.max(...names.map((name) => name.length));
  const lines = await Promise.all(
    names.map(async (name) => `  ${name.padEnd(width)}  ${(await load(name, verbs)).summary}`),
  );
  return `quorate runs and operates etcd clusters.

Usage: quorate <verb> [arguments]

${lines.join("\n")}

Run quorate <verb> --help for details. --version prints the version; --debug adds stack traces to errors.
`;
}

function report(error: unknown, debug: boolean, io: CliIo): number {
  const known = error instanceof Error ? error : new Error(String(error));
  io.stderr.write(ensureNewline(`quorate: ${debug && known.stack ? known.stack : messageOf(known)}`));
  return known instanceof UsageError ? 2 : 1;
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
