/** The first line of "why is nothing happening?": one whole sentence or more. */
import { sentences, stopped } from "./words.ts";

export const SUMMARIES = {
  acting: (step: string, why: string) => `In progress: ${step} (${why}).`,
  converged: "Nothing to do: the cluster matches its spec.",
  remark: (needsPerson: boolean, what: string) =>
    `${needsPerson ? "Needs attention" : "Nothing to do"}: ${stopped(what)}`,
  forPerson: (what: string) => `Waiting for a person: ${stopped(what)}`,
  /** What comes after the first is sentences already. */
  waiting: (first: string, more: readonly string[]) => `Waiting: ${sentences(first, ...more)}`,
} as const;
