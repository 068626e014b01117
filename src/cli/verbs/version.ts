/** `quorate version`: of this command, and of the operator where it can be read. */
import manifest from "../../../package.json" with { type: "json" };
import { deadline } from "../../seams/clock.ts";
import { CommandError } from "../exit.ts";
import type { CliIo } from "../io.ts";
import { formatted } from "../output.ts";
import type { TargetValues } from "../target/values.ts";
import { plainVerb } from "../verb.ts";

/** The version of this command is worth no long wait for the other. */
const PATIENCE_MS = 3_000;

export const verb = plainVerb(
  {
    name: "version",
    summary: "show the version of this command and, with --operator, of the operator",
    about:
      "The version of the operator is read from its Deployment, for which you need the right to list Deployments.",
    flags: { operator: { kind: "switch", help: "also ask the API server for the version of the operator" } },
    groups: ["output", "target"],
    examples: [
      { does: "This command", line: "version" },
      { does: "Both, as JSON", line: "version --operator -o json" },
    ],
  },
  async ({ flags }, io) => {
    const client = { version: manifest.version, node: process.version };
    const operator = flags.operator ? await operatorVersion(flags, io) : undefined;
    const shown = {
      data: { client, ...(operator && { operator }) },
      text: () => lines(client.version, operator),
    };
    io.stdout.write(await formatted(shown, flags.output));
  },
);

interface Found {
  readonly version?: string;
  /** Where it names no version. */
  readonly image?: string;
  readonly problem?: string;
}

function lines(client: string, operator: Found | undefined): string {
  const named =
    operator?.version ??
    (operator?.image === undefined
      ? `unknown: ${operator?.problem}`
      : `of image ${operator.image}, which names no version`);
  const shown = operator && `operator ${named}`;
  return [`quorate ${client}`, ...(shown === undefined ? [] : [shown])].join("\n");
}

async function operatorVersion(flags: TargetValues, io: CliIo): Promise<Found> {
  const { openTarget } = await import("../target/open.ts");
  using limit = deadline(io.clock, PATIENCE_MS, io.signal);
  try {
    const target = await openTarget(flags, { ...io, signal: limit.signal });
    try {
      return (await target.operatorVersion()) ?? { problem: "no Deployment of the operator can be read" };
    } finally {
      await target.close();
    }
  } catch (error) {
    if (error instanceof CommandError) return { problem: error.message };
    throw error;
  }
}
