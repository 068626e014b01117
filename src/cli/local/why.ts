/** `quorate local why`: why nothing happens, and what to do about it. */
import { commandOf } from "../called.ts";
import type { CliIo } from "../io.ts";
import { exactly, parse, placeOf } from "./place.ts";
import { print } from "./output.ts";
import { call, hasController } from "./session.ts";
import { ending } from "./usage.ts";

export const summary = "explain what the cluster is waiting for, and what you can do";
export const usage = (command: string): string => `Usage: ${command} local why [options]

Options:
${ending(command, ["What the cluster waits for", "why"], ["Of another cluster, for a script", "why --name demo -o json"])}`;

export async function run(args: string[], io: CliIo): Promise<number> {
  const { values, positionals } = parse(args, {});
  exactly(positionals);
  const place = placeOf(values, io);
  const { summary: reported, reasons, then } = await call(place, io, "why");
  // Whatever the members lack, nobody is there to do anything about it.
  const said = (await hasController(place, io))
    ? reported
    : `No controller is running for this cluster, so nothing changes. Start one with: ${commandOf(io)} local up`;
  const lines = [
    said,
    ...reasons.map(({ reason, message, next }) => `- ${reason}: ${message}${next ? `\n  ${next}` : ""}`),
    ...(then.length > 0 ? [`Then: ${then.join("; ")}`] : []),
  ];
  print(io, place, { summary: said, reasons, then }, lines.join("\n"));
  return 0;
}
