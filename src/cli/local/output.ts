/** What verbs print: one line for people or the whole result for programs; warnings go to stderr. */
import type { CliIo } from "../io.ts";

export function print(io: CliIo, { json }: { readonly json: boolean }, result: unknown, text: string): void {
  io.stdout.write(json ? `${JSON.stringify(result)}\n` : text.endsWith("\n") ? text : `${text}\n`);
}

export function warn(io: CliIo, warnings: readonly string[] | undefined): void {
  for (const warning of warnings ?? []) io.stderr.write(`Warning: ${warning}\n`);
}

/** `3 s`, `5 min`, `2 h`: how long ago or how long still, roughly. */
export function roughly(ms: number): string {
  const seconds = Math.max(0, Math.round(ms / 1000));
  if (seconds < 120) return `${seconds} s`;
  const minutes = Math.round(seconds / 60);
  return minutes < 120 ? `${minutes} min` : `${Math.round(minutes / 60)} h`;
}

export function megabytes(bytes: number | undefined): string {
  return bytes === undefined ? "-" : `${(bytes / 1024 ** 2).toFixed(1)} MiB`;
}
