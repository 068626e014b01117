/** `quorate local kill <member>`. */
import type { CliIo } from "../io.ts";
import { memberVerb } from "./member-verb.ts";

const verb = memberVerb({
  verb: "kill",
  summary: "kill a member (SIGKILL) and watch it come back",
  about: `Ends the member as the out-of-memory killer would. Its data stays, so it is started again
at once and catches up.`,
});

export const { summary, usage } = verb;
export const run = (args: string[], io: CliIo): Promise<number> => verb.run(args, io);
