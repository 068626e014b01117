/** How the help of every verb of `quorate local` ends: the options of the place, examples and exit codes. */
import { EXIT } from "../exit.ts";
import { examplesOf, exitCodesOf } from "../help.ts";
import type { Example } from "../verb-data.ts";
import { placeUsage } from "./place.ts";

const { done, failed, usage, notFound } = EXIT;

/** What the lines of examples do, and what follows `<command> local`. */
export type LocalExample = readonly [does: string, line: string];

export function ending(command: string, ...examples: readonly [LocalExample, ...LocalExample[]]): string {
  const all: Example[] = examples.map(([does, line]) => ({ does, line: `local ${line}` }));
  return `${placeUsage}

${examplesOf(all, command)}

${exitCodesOf([done, failed, usage, notFound], { [notFound]: "there is no such cluster, member or object" })}
`;
}
