/**
 * Node's parser of arguments for verbs whose help is written by hand: what is wrong is said with the nearest right thing,
 * as command-line.ts says it for verbs that are data.
 */
import { parseArgs, type ParseArgsConfig } from "node:util";
import { nearest } from "../api/suggest.ts";
import { UsageError } from "./io.ts";

export type Options = NonNullable<ParseArgsConfig["options"]>;

export function parseFlags<O extends Options>(given: readonly string[], options: O) {
  const args = [...given];
  const { tokens } = parseArgs({ args, options, allowPositionals: true, strict: false, tokens: true });
  for (const token of tokens)
    if (token.kind === "option" && !Object.hasOwn(options, token.name))
      throw new UsageError(unknownFlag(token.rawName, Object.keys(options)));
  try {
    return parseArgs({ args, options, allowPositionals: true });
  } catch (error) {
    throw new UsageError((error as Error).message);
  }
}

/** Without a flag that looks alike, those there are. */
function unknownFlag(rawName: string, names: readonly string[]): string {
  const hint = nearestFlag(rawName, names) ?? `use one of ${names.map((name) => `--${name}`).join(", ")}`;
  return `unknown flag ${rawName}; ${hint}`;
}

/** `did you mean --name?`, if there is one to be meant. */
export function nearestFlag(rawName: string, names: readonly string[]): string | undefined {
  const near = rawName.startsWith("--") ? nearestWord(rawName.slice(2), names) : undefined;
  return near && `did you mean --${near}?`;
}

/** What to write instead of a word that is none of these. */
export function oneOf(word: string, known: readonly string[]): string {
  const near = nearestWord(word, known);
  return near === undefined ? `use ${listed(known)}` : `did you mean ${near}?`;
}

function nearestWord(word: string, known: readonly string[]): string | undefined {
  return known.find((name) => word.length > 2 && name.startsWith(word)) ?? nearest(word, known);
}

/** `a, b or c`. */
export function listed(words: readonly string[]): string {
  return words.length < 2 ? words.join("") : `${words.slice(0, -1).join(", ")} or ${words.at(-1) ?? ""}`;
}
