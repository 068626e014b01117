/**
 * What could not be made, kept or read. Whether one is news is decided by its key: its sentence may hold a number, such
 * as the use of a quota, that changes from pass to pass.
 */
import { errorCode } from "./error-code.ts";

export interface Problem {
  /** What it is about, and of which class it is. */
  readonly key: string;
  /** For people. */
  readonly message: string;
}

/** That of a part whose work ended with this error. */
export function problemOf(part: string, error: unknown): Problem {
  const message = error instanceof Error ? error.message : String(error);
  return { key: `${part} ${errorCode(error)}`, message: part === "" ? message : `${part}: ${message}` };
}

/** Each sentence once, where several parts have the same to say. */
export function sentencesOf(problems: readonly Pick<Problem, "message">[]): string[] {
  return [...new Set(problems.map(({ message }) => message))];
}
