/** `quorate local env`: what etcdctl needs to find the cluster, for `eval`. */
import { Refused } from "../../local/operations.ts";
import type { CliIo } from "../io.ts";
import { exactly, parse, placeOf } from "./place.ts";
import { print } from "./output.ts";
import { clientEnvironment, exportLines } from "./report.ts";
import { call } from "./session.ts";
import { ending } from "./usage.ts";

export const summary = "print environment variables for etcdctl";
export const usage = (command: string): string => `Usage: eval "$(${command} local env)"

Options:
${ending(command, ["Show the variables", "env"], ["As JSON, for a program", "env -o json"])}`;

export async function run(args: string[], io: CliIo): Promise<number> {
  const { values, positionals } = parse(args, {});
  exactly(positionals);
  const place = placeOf(values, io);
  const report = await call(place, io, "status");
  const { endpoints = [], members = [] } = report.cluster.status ?? {};
  const fenced = members.filter((member) => member.fenced).map(({ name }) => name);
  if (endpoints.length === 0 && fenced.length > 0)
    throw new Refused(
      `every voter is fenced (${fenced.join(", ")}), so there is no endpoint: unfence one of them`,
    );
  const environment = clientEnvironment(report);
  print(io, place, environment, exportLines(environment));
  return 0;
}
