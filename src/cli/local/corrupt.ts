/** `quorate local corrupt <member>`. */
import type { CliIo } from "../io.ts";
import { memberVerb } from "./member-verb.ts";

const verb = memberVerb({
  verb: "corrupt",
  summary: "change a member's database behind its back; it is replaced",
  about: `Kills the member and flips a byte in each page of keys. The file stays readable, but its
data differs from the others': etcd notices at its start, and the member is replaced.`,
});

export const { summary, usage } = verb;
export const run = (args: string[], io: CliIo): Promise<number> => verb.run(args, io);
