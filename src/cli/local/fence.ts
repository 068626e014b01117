/** `quorate local fence <member>`. */
import type { CliIo } from "../io.ts";
import { memberVerb } from "./member-verb.ts";

const verb = memberVerb({
  verb: "fence",
  summary: "keep clients and leadership away from a member without stopping it",
  about: `The member keeps running and voting. \`local env\` leaves it out of the endpoints, and leadership moves
to a healthy voter that is not fenced. A member that replaces it is not fenced.`,
  examples: [["Take etcd-1 out of the endpoints", "fence etcd-1"]],
});

export const { summary, usage } = verb;
export const run = (args: string[], io: CliIo): Promise<number> => verb.run(args, io);
