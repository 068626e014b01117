/**
 * What may come next on a command line, from the verbs' data: the shells' own scripts only ask this. Pure but for
 * the names of clusters and members, which the caller looks up.
 */
import type { Verb, Verbs } from "../io.ts";
import { flagsOf, type Argument } from "../verb-data.ts";

export interface Candidate {
  readonly word: string;
  readonly about?: string;
}

export type NameKind = "cluster" | "member" | "subject" | "node";

export type Next =
  | { readonly kind: "words"; readonly words: readonly Candidate[] }
  | { readonly kind: "files" }
  /**
   * Names that only the target knows; `subject` is a cluster or members of it. `about` is the cluster that was named, or
   * a member of it. `given` are the words so far, for the flags of the target.
   */
  | {
      readonly kind: "names";
      readonly of: NameKind;
      readonly about?: string;
      readonly given: readonly string[];
    };

/** `words` are those after the program; the last one is being typed and may be empty. */
export async function nextWords(words: readonly string[], verbs: Verbs): Promise<Next> {
  const typed = words.at(-1) ?? "";
  let [verb, depth]: [Verb | undefined, number] = [undefined, 0];
  let among: Verbs | undefined = verbs;
  while (among !== undefined && depth < words.length - 1) {
    const name: string = words[depth] ?? "";
    const load: (() => Promise<Verb>) | undefined = Object.hasOwn(among, name) ? among[name] : undefined;
    if (load === undefined) return { kind: "words", words: [] };
    verb = await load();
    among = verb.verbs;
    depth++;
  }
  if (among !== undefined) return { kind: "words", words: matching(await listed(among), typed) };
  if (verb?.data === undefined) return { kind: "words", words: [] };
  return nextOf(verb.data, words.slice(depth), words);
}

function nextOf(data: NonNullable<Verb["data"]>, words: readonly string[], all: readonly string[]): Next {
  const typed = words.at(-1) ?? "";
  const before = words.slice(0, -1);
  if (before.includes("--")) return { kind: "files" };
  const flags = Object.entries(flagsOf(data));
  const named = (word: string | undefined) =>
    flags.find(([name, { short }]) => word === `--${name}` || (short !== undefined && word === `-${short}`));
  const [, inline, value = typed] = /^(--[^=]+)=(.*)$/s.exec(typed) ?? [];
  const pending = named(inline ?? before.at(-1));
  if (pending && pending[1].kind !== "switch") {
    const [, flag] = pending;
    if (flag.kind === "choice")
      return {
        kind: "words",
        words: matching(
          flag.choices.map((word) => ({ word })),
          value,
        ),
      };
    if (flag.kind === "text" && /file|directory/.test(flag.value)) return { kind: "files" };
    if (pending[0] === "member") return names("member", before, data.arguments ?? [], named, all);
    if (pending[0] === "node-off") return names("node", before, data.arguments ?? [], named, all);
    return { kind: "words", words: [] };
  }
  if (typed.startsWith("-")) {
    const offered = flags.map(([name, flag]) => ({ word: `--${name}`, about: flag.help }));
    return { kind: "words", words: matching(offered, typed) };
  }
  const positionals = positionalsOf(before, named);
  const wanted = data.arguments ?? [];
  const argument = wanted[positionals.length] ?? (wanted.at(-1)?.many ? wanted.at(-1) : undefined);
  if (argument?.complete === undefined) return { kind: "words", words: [] };
  if (argument.complete === "file") return { kind: "files" };
  if (argument.complete === "cluster" || argument.complete === "member" || argument.complete === "subject")
    return names(argument.complete, before, wanted, named, all);
  return {
    kind: "words",
    words: matching(
      argument.complete.map((word) => ({ word })),
      typed,
    ),
  };
}

type Named = (word: string | undefined) => [string, { kind: string }] | undefined;

function names(
  of: NameKind,
  before: readonly string[],
  wanted: readonly Argument[],
  named: Named,
  given: readonly string[],
): Next {
  const at = wanted.findIndex(({ complete }) => complete === "cluster" || complete === "subject");
  const about = at < 0 ? undefined : positionalsOf(before, named)[at];
  return { kind: "names", of, given, ...(of !== "cluster" && about !== undefined && { about }) };
}

/** Words that are neither flags nor values of flags. */
function positionalsOf(words: readonly string[], named: Named): string[] {
  const found: string[] = [];
  for (let index = 0; index < words.length; index++) {
    const word = words[index] ?? "";
    const flag = named(word);
    if (flag && flag[1].kind !== "switch") index++;
    else if (!word.startsWith("-")) found.push(word);
  }
  return found;
}

async function listed(verbs: Verbs): Promise<Candidate[]> {
  const all = await Promise.all(
    Object.entries(verbs).map(async ([word, load]) => ({ word, verb: await load() })),
  );
  return all
    .filter(({ verb }) => !verb.data?.hidden)
    .map(({ word, verb }) => ({ word, about: verb.summary }));
}

export function matching(candidates: readonly Candidate[], typed: string): Candidate[] {
  return candidates.filter(({ word }) => word.startsWith(typed));
}
