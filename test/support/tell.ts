/**
 * What tests hold in memory of what the product said (logs of operators, output of commands) is told here, so that
 * `npm test` searches it for keys and passwords as it searches files.
 */
import { appendFileSync } from "node:fs";
import path from "node:path";
import process from "node:process";

/** The variable that names the folder; outside `npm test` there is none. */
export const TOLD = "QUORATE_TOLD";

/** `where`: as a file name, such as `log of an operator`. */
export function tell(where: string, text: string): void {
  const folder = process.env[TOLD];
  if (folder !== undefined && text !== "") appendFileSync(path.join(folder, where), `${text}\n`);
}
