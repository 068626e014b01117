/** `quorate local approve <word>`: lets a step go on that waits for a person. */
import type { CliIo } from "../io.ts";
import { print } from "./output.ts";
import { exactly, parse, placeOf } from "./place.ts";
import { call } from "./session.ts";
import { ending } from "./usage.ts";

export const summary =
  "approve a rollout, a step for a member that cannot be reached, or restored older data";
export const usage = (command: string): string => `Usage: ${command} local approve <approval> [options]

\`${command} local why\` shows the approval that a step waits for: the hash of a rollout (spec.update.strategy
OnApproval), a step for a member that the controller cannot reach, such as replace-etcd-3, or data that was restored
by hand and is older than what was seen before, such as accept-data-48211.

Options:
${ending(command, ["Approve the rollout with this hash", "approve 1f0c93ab"], ["Approve the replacement of an unreachable member", "approve replace-etcd-3"])}`;

export async function run(args: string[], io: CliIo): Promise<number> {
  const { values, positionals } = parse(args, {});
  const [word] = exactly(positionals, "word");
  const place = placeOf(values, io);
  const done = await call(place, io, "approve", word);
  print(io, place, done, done.text);
  return 0;
}
