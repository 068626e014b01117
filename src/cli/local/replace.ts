/** `quorate local replace <member>`. */
import type { CliIo } from "../io.ts";
import { memberVerb } from "./member-verb.ts";

const verb = memberVerb({
  verb: "replace",
  summary: "replace a member by a new one while it still serves",
  about: `A newcomer joins as a learner and is promoted; then the member leaves.`,
});

export const { summary, usage } = verb;
export const run = (args: string[], io: CliIo): Promise<number> => verb.run(args, io);
