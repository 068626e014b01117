/** `quorate local replace <member>`. */
import type { CliIo } from "../io.ts";
import { memberVerb } from "./member-verb.ts";

const verb = memberVerb({
  verb: "replace",
  summary: "replace a member with a new one",
  about: `A new member joins as a learner and is promoted, then the old one is removed.`,
  examples: [["Replace etcd-1 in the cluster demo", "replace etcd-1 --name demo"]],
});

export const { summary, usage } = verb;
export const run = (args: string[], io: CliIo): Promise<number> => verb.run(args, io);
