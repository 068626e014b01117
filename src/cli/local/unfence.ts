/** `quorate local unfence <member>`. */
import type { CliIo } from "../io.ts";
import { memberVerb } from "./member-verb.ts";

const verb = memberVerb({
  verb: "unfence",
  summary: "let clients and leadership return to a fenced member",
  about: `\`local env\` lists the member again, and it may lead.`,
  examples: [["Give etcd-1 back to clients", "unfence etcd-1"]],
});

export const { summary, usage } = verb;
export const run = (args: string[], io: CliIo): Promise<number> => verb.run(args, io);
