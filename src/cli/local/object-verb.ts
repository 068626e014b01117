/** What verbs about resources of a cluster on this machine share: apply manifests, list and delete them. */
import { parseAllDocuments } from "yaml";
import type { Done } from "../../local/verb.ts";
import { commandOf } from "../called.ts";
import { UsageError, type CliIo } from "../io.ts";
import { oneOf } from "../parse.ts";
import { table } from "../table.ts";
import { readText } from "./change.ts";
import { print, warn } from "./output.ts";
import { exactly, parse, placeOf, type Place } from "./place.ts";
import { hasController } from "./session.ts";
import { ending } from "./usage.ts";

export interface ObjectVerb<T> {
  /** Of `quorate local <word>`. */
  readonly word: string;
  readonly kind: string;
  readonly apply: (place: Place, io: CliIo, manifest: object) => Promise<Done>;
  readonly list: (place: Place, io: CliIo) => Promise<readonly T[]>;
  readonly remove: (place: Place, io: CliIo, name: string) => Promise<Done>;
  readonly columns: readonly string[];
  readonly row: (object: T) => readonly string[];
}

export function objectUsage(word: string, kind: string, about: string) {
  return (command: string): string => `Usage: ${command} local ${word} apply -f <file> [options]
       ${command} local ${word} list [options]
       ${command} local ${word} delete <name> [options]

${about}

Options of apply:
  -f, --file <file>       ${kind} manifests, one or more; - reads standard input

Options:
${ending(command, [`Apply what a file holds`, `${word} apply -f ${word}s.yaml`], [`How they are`, `${word} list`])}`;
}

const options = { file: { type: "string", short: "f" } } as const;

export function runObjectVerb<T>(data: ObjectVerb<T>) {
  return async (args: string[], io: CliIo): Promise<number> => {
    const { values, positionals } = parse(args, options);
    const [verb = "", ...rest] = positionals;
    const place = placeOf(values, io);
    if (verb === "apply") {
      exactly(rest);
      if (values.file === undefined) throw new UsageError("no manifest given: use -f <file>");
      return await apply(place, io, data, values.file);
    }
    if (verb === "list") {
      exactly(rest);
      const objects = await data.list(place, io);
      const rows = () => table([[...data.columns], ...objects.map((one) => [...data.row(one)])]);
      print(io, place, objects, objects.length === 0 ? `no ${data.kind}s` : rows());
      return 0;
    }
    if (verb === "delete") {
      const [name = ""] = exactly(rest, "name");
      const done = await data.remove(place, io, name);
      print(io, place, done, done.text);
      return 0;
    }
    throw new UsageError(
      verb === ""
        ? "missing: apply, list or delete"
        : `unknown verb ${JSON.stringify(verb)}: ${oneOf(verb, ["apply", "list", "delete"])}`,
    );
  };
}

async function apply<T>(place: Place, io: CliIo, data: ObjectVerb<T>, file: string): Promise<number> {
  const { kind } = data;
  const { text, source } = await readText(file, io);
  const documents = parseAllDocuments(text);
  for (const document of documents) {
    const [error] = document.errors;
    if (error) throw new UsageError(`${source}: ${error.message}`);
  }
  const manifests = documents.map((document) => document.toJS() as { kind?: unknown } | null);
  for (const manifest of manifests.filter((one) => one !== null)) {
    if (manifest.kind !== kind)
      throw new UsageError(`${source}: kind ${JSON.stringify(manifest.kind)}: write kind: ${kind}`);
    const done = await data.apply(place, io, manifest);
    warn(io, done.warnings ?? []);
    print(io, place, done, done.text);
  }
  if (!place.json && !(await hasController(place, io)))
    io.stdout.write(`It is stored and takes effect when a controller runs: ${commandOf(io)} local up\n`);
  return 0;
}
