/** `quorate local stop <member>`. */
import type { CliIo } from "../io.ts";
import { memberVerb } from "./member-verb.ts";

const verb = memberVerb({
  verb: "stop",
  summary: "stop a member gracefully (SIGTERM); it is restarted",
  about: `The member hands over leadership and stops; it is then restarted, because it is meant to run.
To stop the whole cluster, use the verb down.`,
  examples: [["Restart etcd-1 gracefully", "stop etcd-1"]],
});

export const { summary, usage } = verb;
export const run = (args: string[], io: CliIo): Promise<number> => verb.run(args, io);
