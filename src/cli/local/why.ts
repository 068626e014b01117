/** `quorate local why`: why nothing happens, and what to do about it. */
import type { CliIo } from "../io.ts";
import { exactly, parse, placeOf, placeUsage } from "./place.ts";
import { print } from "./output.ts";
import { call } from "./session.ts";

export const summary = "tell why nothing happens, and what to do";
export const usage = `Usage: quorate local why [options]

Options:
${placeUsage}
`;

export async function run(args: string[], io: CliIo): Promise<number> {
  const { values, positionals } = parse(args, {});
  exactly(positionals);
  const place = placeOf(values, io);
  const { summary: said, reasons, then } = await call(place, io, "why");
  const lines = [
    said,
    ...reasons.map(({ reason, message, next }) => `- ${reason}: ${message}${next ? `\n  ${next}` : ""}`),
    ...(then.length > 0 ? [`Then: ${then.join("; ")}`] : []),
  ];
  print(io, place, { summary: said, reasons, then }, lines.join("\n"));
  return 0;
}
