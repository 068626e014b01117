/** `quorate __complete -- <words>`: what the completion scripts of the shells ask. Never fails: it offers nothing then. */
import path from "node:path";
import { ordinalOf } from "../../core/record.ts";
import { deadline } from "../../seams/clock.ts";
import { parseCommandLine } from "../command-line.ts";
import { matching, nextWords, type Candidate, type Next } from "../completion/words.ts";
import type { CliIo, Verb, Verbs } from "../io.ts";
import type { ClusterObject, Target } from "../target/target.ts";
import type { TargetValues } from "../target/values.ts";
import { plainVerb } from "../verb.ts";

/** Nobody waits longer for a completion. */
const PATIENCE_MS = 2_000;
/** Clusters whose members are looked up while no cluster was named. */
const MOST_ASKED = 10;

export function completeVerb(verbs: () => Verbs): Verb {
  return plainVerb(
    {
      name: "__complete",
      summary: "offer the next words of a command line",
      hidden: true,
      rest: "words",
      examples: [{ does: "What could follow", line: '__complete -- status ""' }],
    },
    async ({ rest }, io) => {
      const next = await nextWords(rest, verbs());
      const offered = next.kind === "names" ? await namesOf(next, rest.at(-1) ?? "", io) : next;
      if (offered.kind === "files") io.stdout.write(":files\n");
      else
        for (const { word, about } of offered.words)
          io.stdout.write(about === undefined ? `${word}\n` : `${word}\t${about}\n`);
    },
  );
}

async function namesOf(
  next: Next & { kind: "names" },
  typed: string,
  io: CliIo,
): Promise<{ kind: "words"; words: readonly Candidate[] }> {
  try {
    using limit = deadline(io.clock, PATIENCE_MS, io.signal);
    const ours = { ...io, signal: limit.signal };
    const target =
      io.target ??
      (await (await import("../target/open.ts")).openTarget(targetValues(next.given, io.env["HOME"]), ours));
    try {
      const names = matching(await namesIn(target, next, typed), typed);
      return { kind: "words", words: names };
    } finally {
      await target.close();
    }
  } catch {
    return { kind: "words", words: [] };
  }
}

async function namesIn(
  target: Target,
  { of, about }: Next & { kind: "names" },
  typed: string,
): Promise<readonly Candidate[]> {
  const clusters = await target.clusters();
  const words = (list: readonly { readonly metadata: { readonly name: string } }[]) =>
    list.map(({ metadata }) => ({ word: metadata.name }));
  if (of === "cluster") return words(clusters);
  if (of === "node")
    return clusters
      .filter(({ metadata: { name } }) => about === undefined || name === about)
      .flatMap(silentNodes);
  const fitting = clusters.filter(({ metadata: { name } }) =>
    about === undefined
      ? name.startsWith(typed) || ordinalOf(name, typed) !== undefined || typed === `${name}-`
      : name === about || ordinalOf(name, about) !== undefined,
  );
  // Each is a request of its own.
  const members = await Promise.all(fitting.slice(0, MOST_ASKED).map((one) => target.members(one)));
  return [...(of === "subject" && about === undefined ? words(clusters) : []), ...words(members.flat())];
}

/** Of which a recovery asks whether they are off; without one, those that members are on. */
function silentNodes({ status }: ClusterObject): Candidate[] {
  const asked = status?.recovery?.nodesOff;
  if (asked) return asked.map(({ name, members }) => ({ word: name, about: members.join(", ") }));
  return (status?.members ?? []).flatMap(({ name, node }) =>
    node === undefined ? [] : [{ word: node, about: name }],
  );
}

/** The flags of the target among the words so far; anything else does not matter here. */
export function targetValues(words: readonly string[], home: string | undefined): TargetValues {
  const data = {
    name: "",
    summary: "",
    groups: ["target", "everywhere"],
    arguments: [{ name: "words", help: "", optional: true, many: true }],
    examples: [{ does: "", line: "" }],
  } as const;
  const kept: string[] = [];
  for (let index = 0; index < words.length - 1; index++) {
    const word = words[index] ?? "";
    if (/^(?:-n|--namespace|--context|--kubeconfig|--dir|--name)$/.test(word))
      kept.push(word, expanded(words[++index] ?? "", home));
    else if (/^(?:-A|--all-namespaces|--local|--(?:namespace|context|kubeconfig|dir|name)=.*)$/.test(word))
      kept.push(word);
  }
  return parseCommandLine(data, kept, {}).flags as unknown as TargetValues;
}

/** Shells pass on a word as it was typed. */
function expanded(word: string, home: string | undefined): string {
  return home !== undefined && word.startsWith("~/") ? path.join(home, word.slice(2)) : word;
}
