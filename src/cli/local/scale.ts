/** `quorate local scale <n>`: voting members; 0 hibernates. */
import type { CliIo } from "../io.ts";
import { applyChange } from "./apply.ts";
import { wholeNumber } from "./change.ts";
import { exactly, parse, placeOf } from "./place.ts";
import { ending } from "./usage.ts";

export const summary = "change the number of voting members; 0 hibernates";
export const usage = (command: string): string => `Usage: ${command} local scale <replicas> [options]

New members join as learners and are promoted one at a time; members are removed one at a time.
0 hibernates the cluster: all members stop, and all data is retained.

Options:
${ending(command, ["Five voting members", "scale 5"], ["Hibernate the cluster demo", "scale 0 --name demo"])}`;

export async function run(args: string[], io: CliIo): Promise<number> {
  const { values, positionals } = parse(args, {});
  const [replicas = ""] = exactly(positionals, "replicas");
  return await applyChange(
    placeOf(values, io),
    io,
    { replicas: wholeNumber("replicas", replicas) },
    undefined,
  );
}
