/** What verbs print: one line for people or the whole result for programs; warnings go to stderr. */
import type { CliIo } from "../io.ts";

export function print(io: CliIo, { json }: { readonly json: boolean }, result: unknown, text: string): void {
  io.stdout.write(json ? `${JSON.stringify(result)}\n` : text.endsWith("\n") ? text : `${text}\n`);
}

export function warn(io: CliIo, warnings: readonly string[] | undefined): void {
  for (const warning of warnings ?? []) io.stderr.write(`Warning: ${warning}\n`);
}

export function megabytes(bytes: number | undefined): string {
  return bytes === undefined ? "-" : `${(bytes / 1024 ** 2).toFixed(1)} MiB`;
}
