/** `quorate local user` and `quorate local role`: EtcdUsers and EtcdRoles of a cluster on this machine. */
import { parseAllDocuments } from "yaml";
import type { ObjectKind } from "../../core/auth/diff.ts";
import type { AuthObject } from "../../local/auth-store.ts";
import { commandOf } from "../called.ts";
import { UsageError, type CliIo } from "../io.ts";
import { table } from "../table.ts";
import { readText } from "./change.ts";
import { print } from "./output.ts";
import { exactly, parse, placeOf, placeUsage, type Place } from "./place.ts";
import { call, hasController } from "./session.ts";

export function authUsage(word: string, kind: ObjectKind, about: string) {
  return (command: string): string => `Usage: ${command} local ${word} apply -f <file> [options]
       ${command} local ${word} list [options]
       ${command} local ${word} delete <name> [options]

${about}

Options of apply:
  -f, --file <file>       ${kind} manifests, one or more; - reads standard input

Options:
${placeUsage}

Examples:
  ${command} local ${word} apply -f ${word}s.yaml
  ${command} local ${word} list
`;
}

const options = { file: { type: "string", short: "f" } } as const;

export function runAuthVerb(kind: ObjectKind) {
  return async (args: string[], io: CliIo): Promise<number> => {
    const { values, positionals } = parse(args, options);
    const [verb = "", ...rest] = positionals;
    const place = placeOf(values, io);
    if (verb === "apply") {
      exactly(rest);
      if (values.file === undefined) throw new UsageError("no manifest given: use -f <file>");
      return await apply(place, io, kind, values.file);
    }
    if (verb === "list") {
      exactly(rest);
      const objects = await call(place, io, "listAuthObjects", kind);
      print(io, place, objects, objects.length === 0 ? `no ${kind}s` : rowsOf(objects));
      return 0;
    }
    if (verb === "delete") {
      const [name = ""] = exactly(rest, "name");
      const done = await call(place, io, "deleteAuthObject", { kind, name });
      print(io, place, done, done.text);
      return 0;
    }
    throw new UsageError(
      verb === ""
        ? "missing: apply, list or delete"
        : `unknown verb ${JSON.stringify(verb)}: use apply, list or delete`,
    );
  };
}

async function apply(place: Place, io: CliIo, kind: ObjectKind, file: string): Promise<number> {
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
    const done = await call(place, io, "applyAuthObject", manifest);
    print(io, place, done, done.text);
  }
  if (!place.json && !(await hasController(place, io)))
    io.stdout.write(`It is stored and takes effect when a controller runs: ${commandOf(io)} local up\n`);
  return 0;
}

function rowsOf(objects: readonly AuthObject[]): string {
  const rows = objects.map(({ metadata, status }) => [
    metadata.name,
    status?.name ?? "",
    status?.conditions?.find(({ type }) => type === "Ready")?.status ?? "Unknown",
    status?.reason ?? "",
    status?.message ?? "",
  ]);
  return table([["NAME", "IN ETCD", "READY", "REASON", "MESSAGE"], ...rows]);
}
