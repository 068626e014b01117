/** `quorate local kill <member>`. */
import type { CliIo } from "../io.ts";
import { memberVerb } from "./member-verb.ts";

const verb = memberVerb({
  verb: "kill",
  summary: "kill a member (SIGKILL); it is restarted",
  about: `Kills the member as the OOM killer would. It keeps its data, so it is restarted immediately
and catches up.`,
  examples: [
    ["Kill etcd-1 in the cluster of the default name", "kill etcd-1"],
    ["See it come back", "status"],
  ],
});

export const { summary, usage } = verb;
export const run = (args: string[], io: CliIo): Promise<number> => verb.run(args, io);
