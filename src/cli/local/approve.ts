/** `quorate local approve <hash>`: lets a rollout go on that waits for a person. */
import type { CliIo } from "../io.ts";
import { print } from "./output.ts";
import { exactly, parse, placeOf, placeUsage } from "./place.ts";
import { call } from "./session.ts";

export const summary = "approve a rollout (spec.update.strategy OnApproval)";
export const usage = `Usage: quorate local approve <hash> [options]

The hash is what \`quorate local why\` shows for the waiting rollout.

Options:
${placeUsage}
`;

export async function run(args: string[], io: CliIo): Promise<number> {
  const { values, positionals } = parse(args, {});
  const [hash] = exactly(positionals, "hash");
  const place = placeOf(values, io);
  const done = await call(place, io, "approve", hash);
  print(io, place, done, done.text);
  return 0;
}
