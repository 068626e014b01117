/** `quorate version`: of this command. */
import manifest from "../../../package.json" with { type: "json" };
import { formatted } from "../output.ts";
import { plainVerb } from "../verb.ts";

export const verb = plainVerb(
  {
    name: "version",
    summary: "show the version of this command",
    groups: ["output"],
    examples: [{ does: "As JSON", line: "version -o json" }],
  },
  async ({ flags }, io) => {
    const client = { version: manifest.version, node: process.version };
    io.stdout.write(
      await formatted({ data: { client }, text: () => `quorate ${client.version}` }, flags.output),
    );
  },
);
