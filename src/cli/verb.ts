/**
 * A verb as data: its name, arguments, flags, examples and exit codes, and the function that carries it out. Parser,
 * `--help`, completion and docs/command.md are made from the data, so they cannot disagree with each other.
 */
import { nearest } from "../api/suggest.ts";
import { commandOf } from "./called.ts";
import { parseCommandLine, type ParsedArguments } from "./command-line.ts";
import { groupHelp, helpOf } from "./help.ts";
import { UsageError, type CliIo, type Verb, type Verbs } from "./io.ts";
import type { Target } from "./target/target.ts";
import type { GroupData, Parsed, VerbData } from "./verb-data.ts";

/** A verb about clusters, on whichever platform the flags choose; needs the group `target`. */
export function clusterVerb<const D extends VerbData>(
  data: D,
  run: (parsed: Parsed<D>, io: CliIo, target: Target) => Promise<number | void>,
): Verb {
  return plainVerb<D>(data, async (parsed, io) => {
    const target = io.target ?? (await (await import("./target/open.ts")).openTarget(parsed.flags, io));
    try {
      return await run(parsed, io, target);
    } finally {
      await target.close();
    }
  });
}

/** A verb that needs no cluster, or opens one itself. */
export function plainVerb<const D extends VerbData>(
  data: D,
  run: (parsed: Parsed<D>, io: CliIo) => Promise<number | void>,
): Verb {
  return {
    summary: data.summary,
    data,
    usage: (command) => helpOf(data, command),
    run: async (args, io) => {
      const parsed: ParsedArguments = parseCommandLine(data, args, io);
      return (await run(parsed as unknown as Parsed<D>, io)) ?? 0;
    },
  };
}

/** Verbs under a word of their own: `member replace`, `member fence`. */
export function verbGroup(data: GroupData, verbs: Verbs): Verb {
  const usage = async (command: string) => groupHelp(data, command, await summariesOf(verbs));
  return {
    summary: data.summary,
    group: data,
    verbs,
    usage,
    run: async ([name, ...args], io) => {
      if (name === undefined || name.startsWith("-"))
        throw new UsageError(
          `no verb given${name === undefined ? "" : ` before ${name}`}.\n\n${await usage(commandOf(io))}`,
        );
      if (name === "help") {
        const [about] = args;
        const verb = about === undefined ? { usage } : await pickVerb(about, verbs, io, data.name);
        io.stdout.write(await usageText(verb, io));
        return 0;
      }
      return await (await pickVerb(name, verbs, io, data.name)).run(args, io);
    },
  };
}

/** The verb of this name, or what it might have been. */
export async function pickVerb(
  name: string,
  verbs: Verbs,
  io: Pick<CliIo, "command">,
  under?: string,
): Promise<Verb> {
  const loader = Object.hasOwn(verbs, name) ? verbs[name] : undefined;
  if (loader) return await loader();
  const names = Object.keys(verbs).filter((known) => !known.startsWith("_"));
  const near = names.find((known) => name !== "" && known.startsWith(name)) ?? nearest(name, names);
  const hint = near === undefined ? `One of: ${names.join(", ")}.` : `Did you mean ${near}?`;
  const path = under === undefined ? "" : `${under} `;
  throw new UsageError(
    `unknown verb ${JSON.stringify(`${path}${name}`)}. ${hint} See ${commandOf(io)} ${path}--help.`,
  );
}

/** The help of a verb, for the program as it was called. */
export async function usageText({ usage }: Pick<Verb, "usage">, io: Pick<CliIo, "command">): Promise<string> {
  return typeof usage === "string" ? usage : await usage(commandOf(io));
}

export async function summariesOf(verbs: Verbs): Promise<[name: string, summary: string][]> {
  const listed = await Promise.all(
    Object.entries(verbs).map(async ([name, load]) => ({ name, verb: await load() })),
  );
  return listed.filter(({ verb }) => !verb.data?.hidden).map(({ name, verb }) => [name, verb.summary]);
}
