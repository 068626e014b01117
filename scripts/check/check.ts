/**
 * What a check is: a name, and a function from the tree to a list of findings, each one line that says
 * where, what is wrong and what to do. An empty list is a pass. Notes are told and fail nothing.
 */
import type { Repo } from "./repo.ts";

export interface Check {
  readonly name: string;
  run(repo: Repo, note?: (text: string) => void): Promise<string[]> | string[];
}

export function finding(path: string, line: number | undefined, message: string): string {
  return line === undefined ? `${path}: ${message}` : `${path}:${line}: ${message}`;
}
