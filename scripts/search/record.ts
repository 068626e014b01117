/** What the searches of one test process came to: a line each, in a file of the runner's. */
import { appendFileSync, existsSync, readFileSync } from "node:fs";
import type { Searched } from "./folder.ts";

/** The variable that names the file. */
export const RECORD = "QUORATE_SEARCHED";

export function record(file: string, searched: Searched): void {
  if (searched.files > 0 || searched.secrets.length > 0)
    appendFileSync(file, `${JSON.stringify(searched)}\n`, { mode: 0o600 });
}

export const NOTHING: Searched = { files: 0, bytes: 0, found: [], secrets: [] };

export function sum(all: readonly Searched[]): Searched {
  return {
    files: all.reduce((total, { files }) => total + files, 0),
    bytes: all.reduce((total, { bytes }) => total + bytes, 0),
    found: [...new Set(all.flatMap(({ found }) => found))],
    secrets: [...new Set(all.flatMap(({ secrets }) => secrets))],
  };
}

export function recorded(file: string): Searched {
  if (!existsSync(file)) return NOTHING;
  const lines = readFileSync(file, "utf8").split("\n").filter(Boolean);
  return sum(lines.map((line) => JSON.parse(line) as Searched));
}
