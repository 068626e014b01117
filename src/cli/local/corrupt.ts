/** `quorate local corrupt <member>`. */
import type { CliIo } from "../io.ts";
import { memberVerb } from "./member-verb.ts";

const verb = memberVerb({
  verb: "corrupt",
  summary: "corrupt a member's database; it is replaced",
  about: `Kills the member and flips a byte in each page of keys. The file stays readable, but its data
differs from that of the other members. etcd detects this when it starts, and the member is replaced.`,
  examples: [
    ["Damage the database of etcd-3", "corrupt etcd-3"],
    ["See how it is repaired, and why", "why"],
  ],
});

export const { summary, usage } = verb;
export const run = (args: string[], io: CliIo): Promise<number> => verb.run(args, io);
