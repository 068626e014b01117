/** The command line of the built-in client: etcdctl's own words, as far as they are understood here. */
import { UsageError } from "../io.ts";
import { parseFlags, type Options } from "../parse.ts";

export interface CommandShape {
  /** As in etcdctl's help. */
  readonly usage: string;
  readonly options: Options;
  readonly least: number;
  readonly most: number;
}

const RANGE = { prefix: { type: "boolean" }, "from-key": { type: "boolean" } } as const;

export const COMMANDS = {
  get: {
    usage:
      "get <key> [range_end] [--prefix] [--from-key] [--keys-only] [--print-value-only] [--count-only] [--limit n] [--rev n] [--consistency l|s]",
    options: {
      ...RANGE,
      "keys-only": { type: "boolean" },
      "print-value-only": { type: "boolean" },
      "count-only": { type: "boolean" },
      limit: { type: "string" },
      rev: { type: "string" },
      consistency: { type: "string" },
    },
    least: 1,
    most: 2,
  },
  put: {
    usage: "put <key> <value> [--prev-kv]",
    options: { "prev-kv": { type: "boolean" } },
    least: 2,
    most: 2,
  },
  del: { usage: "del <key> [range_end] [--prefix] [--from-key]", options: RANGE, least: 1, most: 2 },
  "member list": { usage: "member list", options: {}, least: 0, most: 0 },
  "endpoint status": { usage: "endpoint status", options: {}, least: 0, most: 0 },
  "endpoint health": { usage: "endpoint health", options: {}, least: 0, most: 0 },
  "alarm list": { usage: "alarm list", options: {}, least: 0, most: 0 },
} as const satisfies Record<string, CommandShape>;

export type CommandName = keyof typeof COMMANDS;

export const FORMATS = ["simple", "table", "json"] as const;
export type Format = (typeof FORMATS)[number];

const GLOBAL = { "write-out": { type: "string", short: "w" }, user: { type: "string" } } as const;

export interface EtcdctlCall {
  readonly command: CommandName;
  readonly arguments: readonly string[];
  readonly values: Readonly<Record<string, string | boolean | undefined>>;
  readonly format: Format;
  readonly user: string | undefined;
}

export function parseCall(given: readonly string[]): EtcdctlCall {
  const words = wordsOf(given);
  const command = (Object.keys(COMMANDS) as CommandName[]).find(
    (name) => words.slice(0, name.split(" ").length).join(" ") === name,
  );
  if (command === undefined) throw unknown(words);
  const { usage, options, least, most }: CommandShape = COMMANDS[command];
  let parsed;
  try {
    parsed = parseFlags(given, { ...options, ...GLOBAL });
  } catch (error) {
    throw new UsageError(`${(error as Error).message}\nThe built-in client takes: ${usage}`);
  }
  const {
    "write-out": format = "simple",
    user,
    ...values
  } = parsed.values as Record<string, string | boolean>;
  const positionals = parsed.positionals.slice(command.split(" ").length);
  if (positionals.length < least || positionals.length > most)
    throw new UsageError(
      `${command} got ${positionals.length} arguments. The built-in client takes: ${usage}`,
    );
  const known = FORMATS.find((one) => one === format);
  if (known === undefined)
    throw new UsageError(`--write-out ${String(format)}: the built-in client knows ${FORMATS.join(", ")}`);
  return {
    command,
    arguments: positionals,
    values,
    format: known,
    user: typeof user === "string" ? user : undefined,
  };
}

/** The words that name the command, wherever global flags stand. */
function wordsOf(given: readonly string[]): readonly string[] {
  const words: string[] = [];
  for (let i = 0; i < given.length; i++) {
    const word = given[i] ?? "";
    if (word === "--") return [...words, ...given.slice(i + 1)];
    if (!word.startsWith("-")) words.push(word);
    else if (/^(-w|--write-out|--user)$/.test(word)) i++;
  }
  return words;
}

function unknown(words: readonly string[]): UsageError {
  const what =
    words.length === 0
      ? "no command given"
      : `unknown command ${JSON.stringify(words.slice(0, 2).join(" "))}`;
  return new UsageError(
    `${what}. The built-in client knows: ${Object.keys(COMMANDS).join(", ")}. For all others install etcdctl, or name one with --etcdctl`,
  );
}
