/** `quorate local wipe <member>`. */
import type { CliIo } from "../io.ts";
import { memberVerb } from "./member-verb.ts";

const verb = memberVerb({
  verb: "wipe",
  summary: "kill a member and empty its data directory; it is replaced",
  about: `What a lost disk looks like. A member that lost its data never returns under its old
identity: it is removed, and a new member joins as a learner and is promoted.`,
});

export const { summary, usage } = verb;
export const run = (args: string[], io: CliIo): Promise<number> => verb.run(args, io);
