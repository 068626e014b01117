/** How verbs that change something end: a sentence for people, the object for programs. */
import type { SharedValues } from "../flag.ts";
import type { CliIo } from "../io.ts";
import { formatted } from "../output.ts";

/** What was done, or with `--dry-run` would be. */
export async function printResult(
  io: CliIo,
  flags: Pick<SharedValues, "output" | "dry-run">,
  text: string,
  data: unknown,
): Promise<void> {
  const sentence = flags["dry-run"] ? `${text} (dry run: nothing was changed)` : text;
  io.stdout.write(await formatted({ data, text: () => sentence }, flags.output));
}

export function warn(io: CliIo, warnings: readonly string[]): void {
  for (const text of warnings) io.stderr.write(`Warning: ${text}\n`);
}
