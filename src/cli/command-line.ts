/**
 * From a command line to values, by a verb's data. What is wrong is said with the nearest right thing; nothing is
 * accepted and ignored.
 */
import { parseArgs } from "node:util";
import { nearest } from "../api/suggest.ts";
import { commandOf } from "./called.ts";
import { durationOf } from "./duration.ts";
import type { Flag, Flags } from "./flag.ts";
import { UsageError, type CliIo } from "./io.ts";
import { nearestFlag } from "./parse.ts";
import { flagsOf, type VerbData } from "./verb-data.ts";

type Value = string | number | boolean | readonly string[] | undefined;

export interface ParsedArguments {
  readonly flags: Readonly<Record<string, Value>>;
  readonly args: Readonly<Record<string, string | readonly string[] | undefined>>;
  readonly rest: readonly string[];
}

export function parseCommandLine(
  data: VerbData,
  given: readonly string[],
  io: Pick<CliIo, "command">,
): ParsedArguments {
  const fail = (message: string) =>
    new UsageError(`${message}${message.endsWith("?") ? "" : "."} See ${commandOf(io)} ${data.name} --help.`);
  const flags = flagsOf(data);
  const { tokens } = parseArgs({
    args: [...given],
    options: Object.fromEntries(
      Object.entries(flags).map(([name, { kind, short }]) => [
        name,
        { type: kind === "switch" ? ("boolean" as const) : ("string" as const), ...(short && { short }) },
      ]),
    ),
    strict: false,
    tokens: true,
  });
  const texts = new Map<string, string[]>();
  const positionals: string[] = [];
  const rest: string[] = [];
  let ended = false;
  for (const token of tokens) {
    if (token.kind === "option-terminator") ended = true;
    else if (token.kind === "positional")
      (ended && data.rest !== undefined ? rest : positionals).push(token.value);
    else {
      const { name, rawName, value, inlineValue } = token;
      const flag = Object.hasOwn(flags, name) ? flags[name] : undefined;
      if (flag === undefined) throw fail(unknownFlag(rawName, flags));
      texts.set(name, [...(texts.get(name) ?? []), textOf(rawName, flag, value, inlineValue, fail)]);
    }
  }
  const values = Object.entries(flags).map(([name, flag]) => [
    name,
    valueOf(name, flag, texts.get(name), fail),
  ]);
  return {
    flags: Object.fromEntries(values) as ParsedArguments["flags"],
    args: argumentsOf(data, positionals, fail),
    rest,
  };
}

type Fail = (message: string) => UsageError;

function unknownFlag(rawName: string, flags: Flags): string {
  const hint = nearestFlag(rawName, Object.keys(flags));
  return `unknown flag ${rawName}${hint === undefined ? "" : `; ${hint}`}`;
}

function textOf(
  rawName: string,
  flag: Flag,
  value: string | undefined,
  inline: boolean | undefined,
  fail: Fail,
): string {
  if (flag.kind === "switch") {
    if (value !== undefined) throw fail(`${rawName} takes no value, but got ${JSON.stringify(value)}`);
    return "";
  }
  const placeholder = flag.kind === "choice" ? flag.choices.join("|") : `<${flag.value}>`;
  if (value === undefined) throw fail(`${rawName} needs a value: ${rawName} ${placeholder}`);
  // `--name --watch`: more likely a forgotten value than a value with two dashes.
  if (inline !== true && value.length > 1 && value.startsWith("-"))
    throw fail(
      `${rawName} needs a value before ${value}; if ${value} is the value, write ${rawName}=${value}`,
    );
  return value;
}

function valueOf(name: string, flag: Flag, given: readonly string[] | undefined, fail: Fail): Value {
  if (flag.kind === "switch") return given !== undefined;
  if (flag.kind === "list")
    return (given ?? [])
      .flatMap((text) => text.split(","))
      .map((text) => text.trim())
      .filter((text) => text !== "");
  const text = given?.at(-1);
  switch (flag.kind) {
    case "text":
      return text ?? flag.default;
    case "number": {
      if (text === undefined) return flag.default;
      if (!/^\d{1,15}$/.test(text)) throw fail(`--${name} ${text}: must be a whole number`);
      return Number(text);
    }
    case "duration": {
      const from = text ?? flag.default;
      if (from === undefined) return undefined;
      const ms = durationOf(from);
      if (ms === undefined) throw fail(`--${name} ${from}: must be a duration such as 90s, 5m, 2h or 1d`);
      return ms;
    }
    case "choice": {
      if (text === undefined) return flag.default;
      if (flag.choices.includes(text)) return text;
      const near = nearest(text, flag.choices);
      throw fail(
        `--${name} ${text}: must be one of ${flag.choices.join(", ")}${near === undefined ? "" : `; did you mean ${near}?`}`,
      );
    }
  }
}

/** Required arguments are filled first: `scale 5` leaves the optional cluster out, `scale demo 5` does not. */
function argumentsOf(
  { arguments: wanted = [], rest }: Pick<VerbData, "arguments" | "rest">,
  given: readonly string[],
  fail: Fail,
): ParsedArguments["args"] {
  const required = wanted.filter(({ optional }) => !optional);
  if (given.length < required.length) {
    const missing = required.slice(given.length).map(({ name }) => `<${name}>`);
    throw fail(`missing: ${missing.join(" ")}`);
  }
  let spare = given.length - required.length;
  let next = 0;
  const args: Record<string, string | readonly string[] | undefined> = {};
  for (const { name, optional, many } of wanted) {
    if (many) {
      args[name] = given.slice(next);
      next = given.length;
    } else if (!optional) args[name] = given[next++];
    else if (spare > 0) {
      spare--;
      args[name] = given[next++];
    }
  }
  const over = given.slice(next).join(" ");
  if (over !== "")
    throw fail(`too many arguments: ${over}${rest === undefined ? "" : `; put ${rest} after --`}`);
  return args;
}
