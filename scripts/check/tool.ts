/**
 * Runs one of the tools in node_modules/.bin and collects what it says.
 */
import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { join } from "node:path";

export interface ToolAnswer {
  readonly code: number;
  readonly lines: string[];
}

/** Never rejects for a tool that fails: its exit code and its lines tell. */
export async function runTool(root: string, tool: string, args: readonly string[]): Promise<ToolAnswer> {
  const path = join(root, "node_modules", ".bin", tool);
  if (!existsSync(path)) return { code: 127, lines: [`${tool} is not installed: run npm ci`] };
  // Colours would end up inside findings.
  const env = { ...process.env, NO_COLOR: "1", FORCE_COLOR: undefined };
  const child = spawn(path, args, { cwd: root, env, stdio: ["ignore", "pipe", "pipe"] });
  const output: Buffer[] = [];
  child.stdout.on("data", (chunk: Buffer) => output.push(chunk));
  child.stderr.on("data", (chunk: Buffer) => output.push(chunk));
  const code = await new Promise<number>((resolve, reject) => {
    child.on("error", reject);
    child.on("close", (status) => resolve(status ?? 1));
  });
  const lines = Buffer.concat(output).toString("utf8").split("\n");
  return { code, lines: lines.map((line) => line.trimEnd()).filter((line) => line !== "") };
}

/** The tool's own lines when it failed, nothing when it passed. */
export function failureOf(answer: ToolAnswer, tool: string): string[] {
  if (answer.code === 0) return [];
  return answer.lines.length > 0
    ? answer.lines
    : [`${tool} failed with exit code ${answer.code} and said nothing`];
}
