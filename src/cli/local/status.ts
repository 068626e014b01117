/** `quorate local status`: how the cluster is, with or without a controller. */
import { commandOf } from "../called.ts";
import type { CliIo } from "../io.ts";
import { exactly, parse, placeOf, placeUsage } from "./place.ts";
import { print } from "./output.ts";
import { renderReport } from "./report.ts";
import { call } from "./session.ts";

export const summary = "show the members, their state and the latest steps";
export const usage = (command: string): string => `Usage: ${command} local status [options]

Options:
${placeUsage}
`;

export async function run(args: string[], io: CliIo): Promise<number> {
  const { values, positionals } = parse(args, {});
  exactly(positionals);
  const place = placeOf(values, io);
  const report = await call(place, io, "status");
  print(io, place, report, renderReport(report, 10, commandOf(io)));
  return 0;
}
