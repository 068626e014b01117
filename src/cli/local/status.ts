/** `quorate local status`: how the cluster is, with or without a controller. */
import { commandOf } from "../called.ts";
import type { CliIo } from "../io.ts";
import { exactly, parse, placeOf } from "./place.ts";
import { print } from "./output.ts";
import { renderReport } from "./report.ts";
import { call } from "./session.ts";
import { ending } from "./usage.ts";

export const summary = "show the members, their state and the latest steps";
export const usage = (command: string): string => `Usage: ${command} local status [options]

Options:
${ending(command, ["The cluster of the default name", "status"], ["Another one, for a script", "status --name demo -o json"])}`;

export async function run(args: string[], io: CliIo): Promise<number> {
  const { values, positionals } = parse(args, {});
  exactly(positionals);
  const place = placeOf(values, io);
  const report = await call(place, io, "status");
  print(io, place, report, renderReport(report, 10, commandOf(io)));
  return 0;
}
