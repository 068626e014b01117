/** Verbs that do one thing to one member and say what to watch. */
import type { OperationName } from "../../local/server.ts";
import { commandOf } from "../called.ts";
import type { Verb } from "../io.ts";
import { exactly, parse, placeOf } from "./place.ts";
import { print } from "./output.ts";
import { call } from "./session.ts";
import { ending, type LocalExample } from "./usage.ts";

type MemberOperation = Extract<
  OperationName,
  "kill" | "stop" | "wipe" | "corrupt" | "replace" | "fence" | "unfence"
>;

export function memberVerb(about: {
  readonly verb: MemberOperation;
  readonly summary: string;
  readonly about: string;
  readonly examples: readonly [LocalExample, ...LocalExample[]];
}): Verb {
  return {
    summary: about.summary,
    usage: (command) => `Usage: ${command} local ${about.verb} <member> [options]

${about.about}

Options:
${ending(command, ...about.examples)}`,
    run: async (args, io) => {
      const { values, positionals } = parse(args, {});
      const place = placeOf(values, io);
      const [member] = exactly(positionals, "member");
      const done = await call(place, io, about.verb, member);
      print(io, place, done, done.text);
      if (!place.json) io.stdout.write(`Watch: ${commandOf(io)} local status${placeArguments(values)}\n`);
      return 0;
    },
  };
}

/** The options of the place, to be repeated in a hint. */
export function placeArguments({
  name,
  dir,
}: {
  name?: string | undefined;
  dir?: string | undefined;
}): string {
  return `${name === undefined ? "" : ` --name ${name}`}${dir === undefined ? "" : ` --dir ${dir}`}`;
}
