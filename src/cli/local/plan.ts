/** `quorate local plan`: what would happen if this were applied; nothing is changed. */
import type { CliIo } from "../io.ts";
import { changeOptions, changeUsage, readChange } from "./change.ts";
import { exactly, parse, placeOf } from "./place.ts";
import { print } from "./output.ts";
import { call } from "./session.ts";
import { ending } from "./usage.ts";

export const summary = "show the steps that a change would take, without making it";
export const usage = (
  command: string,
): string => `Usage: ${command} local plan [-f <file>] [--replicas <n>] [--version <v>] [options]

Without a change, it shows the remaining steps of the current one.

Options:
${changeUsage}
${ending(command, ["The remaining steps", "plan"], ["What scaling to five would take", "plan --replicas 5"], ["What a manifest would change", "plan -f cluster.yaml"])}`;

export async function run(args: string[], io: CliIo): Promise<number> {
  const { values, positionals } = parse(args, changeOptions);
  exactly(positionals);
  const change = await readChange(values, io);
  const place = placeOf(values, io, change.name);
  const plan = await call(place, io, "plan", change.change);
  const steps = plan.steps.map(
    ({ step, reason }, index) => `${String(index + 1).padStart(3)}  ${step}: ${reason}`,
  );
  const end = plan.converged
    ? [steps.length === 0 ? "Nothing to do." : "The cluster then matches its spec."]
    : [
        "It then waits:",
        ...plan.waiting.map(({ message, next }) => `  ${message}${next ? `. ${next}` : ""}`),
      ];
  print(io, place, plan, [...steps, ...end].join("\n"));
  return 0;
}
