/**
 * Starts a bundle and asks it two things that any broken bundle fails at: its version, and its help, for
 * which it has to load every verb.
 */
import { execFile } from "node:child_process";
import { promisify } from "node:util";

const run = promisify(execFile);

/** What it answered to `--version`. */
export async function smoke(path: string): Promise<string> {
  const version = (await run(process.execPath, [path, "--version"])).stdout.trim();
  if (!/^\w+ \d+\.\d+\.\d+/.test(version))
    throw new Error(`${path} --version answered ${JSON.stringify(version)}`);
  await run(process.execPath, [path, "--help"]);
  return version;
}
