/**
 * From `quorate <verb> …` to the file of that verb. Nothing of a verb is loaded before it is called
 * (`quorate --help` asks each for its one line). Errors become one line and an exit code here.
 */
import { nearest } from "../api/suggest.ts";
import { UsageError, type CliIo, type Verb } from "./io.ts";

/** One line per verb: its name, and how to load it. */
export type Verbs = Readonly<Record<string, () => Promise<Verb>>>;

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
      const about = args[0] === undefined ? await overview(verbs) : (await load(args[0], verbs)).usage;
      io.stdout.write(ensureNewline(about));
      return 0;
    }
    if (name === "--version" || name === "-V" || name === "version") {
      io.stdout.write(`quorate ${version}\n`);
      return 0;
    }
    const verb = await load(name, verbs);
    if (asksForHelp(args)) {
      io.stdout.write(ensureNewline(verb.usage));
      return 0;
    }
    return await verb.run(args, io);
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
  return `quorate operates etcd.

Usage: quorate <verb> [arguments]

${lines.join("\n")}

quorate <verb> --help tells more. --version prints the version; --debug adds stacks to errors.
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
