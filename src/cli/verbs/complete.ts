/** `quorate __complete -- <words>`: what the completion scripts of the shells ask. Never fails: it offers nothing then. */
import { deadline } from "../../seams/clock.ts";
import { parseCommandLine } from "../command-line.ts";
import { matching, nextWords, type Candidate, type Next } from "../completion/words.ts";
import type { CliIo, Verb, Verbs } from "../io.ts";
import type { TargetValues } from "../target/values.ts";
import { plainVerb } from "../verb.ts";

/** Nobody waits longer for a completion. */
const PATIENCE_MS = 2_000;

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
    const { openTarget } = await import("../target/open.ts");
    const target = await openTarget(targetValues(next.given), { ...io, signal: limit.signal });
    try {
      const clusters = await target.clusters();
      const found = next.of === "cluster" ? clusters.map(({ metadata }) => metadata.name) : [];
      if (next.of === "member") {
        const cluster = clusters.find(({ metadata }) => metadata.name === next.cluster) ?? clusters[0];
        if (cluster) found.push(...(await target.members(cluster)).map(({ metadata }) => metadata.name));
      }
      return {
        kind: "words",
        words: matching(
          found.map((word) => ({ word })),
          typed,
        ),
      };
    } finally {
      await target.close();
    }
  } catch {
    return { kind: "words", words: [] };
  }
}

/** The flags of the target among the words so far; anything else does not matter here. */
function targetValues(words: readonly string[]): TargetValues {
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
      kept.push(word, words[++index] ?? "");
    else if (/^(?:-A|--all-namespaces|--local|--(?:namespace|context|kubeconfig|dir|name)=.*)$/.test(word))
      kept.push(word);
  }
  return parseCommandLine(data, kept, {}).flags as unknown as TargetValues;
}
