/** The question before a change that can hurt: what will happen, and what the cluster can bear. */
import { createInterface } from "node:readline/promises";
import { CommandError, EXIT } from "../exit.ts";
import type { SharedValues } from "../flag.ts";
import type { CliIo } from "../io.ts";

export interface Danger {
  /** `Restarting demo-1`. */
  readonly change: string;
  /** What that means, without a full stop. */
  readonly risk: string;
}

/** Returns when the user agreed. Without a terminal, only `--yes` is consent. */
export async function confirm(
  io: CliIo,
  flags: Pick<SharedValues, "yes">,
  { change, risk }: Danger,
): Promise<void> {
  if (flags.yes) return;
  const terminal = io.isTTY && (io.stdin as { isTTY?: boolean }).isTTY === true;
  if (!terminal)
    throw new CommandError(
      EXIT.notConfirmed,
      `${change}: ${risk}. Nothing was changed; there is no terminal to ask on, so add --yes to confirm`,
    );
  io.stderr.write(`${change}: ${risk}.\nContinue? [y/N] `);
  if (/^y(?:es)?$/i.test((await answerOf(io)).trim())) return;
  throw new CommandError(EXIT.notConfirmed, "not confirmed; nothing was changed");
}

/** One line; nothing where the input ended or the user left. */
async function answerOf(io: CliIo): Promise<string> {
  const lines = createInterface({ input: io.stdin });
  try {
    return await new Promise<string>((resolve) => {
      lines.once("line", resolve);
      lines.once("close", () => resolve(""));
      io.signal.addEventListener("abort", () => resolve(""), { once: true });
    });
  } finally {
    lines.close();
  }
}
