/** `quorate local stop <member>`. */
import type { CliIo } from "../io.ts";
import { memberVerb } from "./member-verb.ts";

const verb = memberVerb({
  verb: "stop",
  summary: "stop a member in order (SIGTERM) and watch it come back",
  about: `The member hands leadership over, ends in order, and is started again: its record says run.
To stop the whole cluster, use: quorate local down`,
});

export const { summary, usage } = verb;
export const run = (args: string[], io: CliIo): Promise<number> => verb.run(args, io);
