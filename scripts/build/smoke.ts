/**
 * Starts a built program and asks it two things that any broken one fails at: its version, and its help, for which it
 * has to load every verb. From an empty directory with an empty PATH, so that nothing beside it can help.
 */
import { execFile } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";

const run = promisify(execFile);

/** What `command --version` answered. */
export async function smoke(command: string, ...before: string[]): Promise<string> {
  const cwd = mkdtempSync(join(tmpdir(), "quorate-smoke-"));
  try {
    const surroundings = { cwd, env: { PATH: "" } };
    const version = (await run(command, [...before, "--version"], surroundings)).stdout.trim();
    if (!/^\w+ \d+\.\d+\.\d+/.test(version))
      throw new Error(
        `${[command, ...before].join(" ")} --version answered ${JSON.stringify(version)}, which is no version`,
      );
    await run(command, [...before, "--help"], surroundings);
    return version;
  } finally {
    rmSync(cwd, { recursive: true, force: true });
  }
}
