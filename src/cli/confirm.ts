/** The question before a change that can hurt. */
import { createInterface } from "node:readline";
import { CommandError, EXIT } from "./exit.ts";
import type { SharedValues } from "./flag.ts";
import type { CliIo } from "./io.ts";

export interface Question {
  /** What is about to be done: `Hibernate demo`. */
  readonly change: string;
  /** What that means for those who use the cluster. */
  readonly risk: string;
}

/** Returns if the person agrees. Without a terminal, only `--yes` is consent. */
export async function confirm(
  io: CliIo,
  flags: Pick<SharedValues, "yes">,
  { change, risk }: Question,
): Promise<void> {
  if (flags.yes) return;
  if (!io.isTTY)
    throw new CommandError(
      EXIT.notConfirmed,
      `${change}: ${risk}. Nothing was changed; add --yes to confirm`,
    );
  io.stderr.write(`${change}: ${risk}. Continue? [y/N] `);
  if (/^y(?:es)?$/i.test(await answer(io))) return;
  throw new CommandError(EXIT.notConfirmed, "not confirmed; nothing was changed");
}

async function answer({ stdin, signal }: CliIo): Promise<string> {
  const lines = createInterface({ input: stdin, signal });
  try {
    for await (const line of lines) return line.trim();
    return "";
  } finally {
    lines.close();
  }
}
