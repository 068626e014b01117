/** `quorate local wipe <member>`. */
import type { CliIo } from "../io.ts";
import { memberVerb } from "./member-verb.ts";

const verb = memberVerb({
  verb: "wipe",
  summary: "kill a member and delete its data; it is replaced",
  about: `Simulates a lost disk. A member that lost its data never rejoins under its old identity: it is
removed, and a new member joins as a learner and is promoted.`,
  examples: [
    ["Lose the disk of etcd-2", "wipe etcd-2"],
    ["See which member takes its place", "status"],
  ],
});

export const { summary, usage } = verb;
export const run = (args: string[], io: CliIo): Promise<number> => verb.run(args, io);
