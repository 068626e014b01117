/**
 * Which cluster a verb is about: `--name` and `--dir`, the same for every verb of `quorate local`.
 */
import os from "node:os";
import path from "node:path";
import { layout, type Layout } from "../../local/layout.ts";
import { UsageError, type CliIo } from "../io.ts";
import { parseFlags, type Options } from "../parse.ts";

export const DEFAULT_NAME = "etcd";

export const placeUsage = `      --name <name>       name of the cluster (default: ${DEFAULT_NAME})
      --dir <directory>   directory of the cluster (default: $XDG_DATA_HOME/quorate/<name>,
                          or ~/.local/share/quorate/<name>)
  -o, --output json       print JSON
  -h, --help`;

const placeOptions = {
  name: { type: "string" },
  dir: { type: "string" },
  output: { type: "string", short: "o" },
} as const satisfies Options;

export interface Place {
  /** As given; the cluster in the directory may have another one. */
  readonly name: string | undefined;
  readonly layout: Layout;
  readonly json: boolean;
}

type Values<O extends Options> = ReturnType<typeof parseFlags<O>>["values"];

/** Parses a verb's arguments together with those of the place. */
export function parse<O extends Options>(args: string[], options: O) {
  const { values, positionals } = parseFlags(args, { ...placeOptions, ...options });
  return { values: values as Values<O & typeof placeOptions>, positionals };
}

interface PlaceValues {
  readonly name?: string | undefined;
  readonly dir?: string | undefined;
  readonly output?: string | undefined;
}

export function placeOf(values: PlaceValues, io: CliIo, manifestName?: string): Place {
  const { name, dir, output } = values;
  if (output !== undefined && output !== "json")
    throw new UsageError(`-o ${output}: the only supported format is json`);
  const where =
    dir === undefined
      ? path.join(clustersHome(io.env), name ?? manifestName ?? DEFAULT_NAME)
      : path.resolve(io.cwd, dir);
  if (where.includes("\0")) throw new UsageError("--dir contains a character that is not allowed in a path");
  return { name, layout: layout(where), json: output === "json" };
}

/** Where clusters are that have no `--dir` of their own: a directory each. */
export function clustersHome(env: CliIo["env"]): string {
  const dataHome = env["XDG_DATA_HOME"] || path.join(env["HOME"] || os.homedir(), ".local", "share");
  return path.join(dataHome, "quorate");
}

/** Exactly these positional arguments, by name; anything else is a mistake. */
export function exactly(positionals: readonly string[], ...names: string[]): string[] {
  if (positionals.length === names.length) return [...positionals];
  if (positionals.length < names.length) {
    throw new UsageError(
      `missing: ${names
        .slice(positionals.length)
        .map((name) => `<${name}>`)
        .join(" ")}`,
    );
  }
  throw new UsageError(`too many arguments: ${positionals.slice(names.length).join(" ")}`);
}
