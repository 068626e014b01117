/** `quorate local apply`: stores a spec; the controller carries it out, now or when it is started. */
import { createCluster, checkDirectory } from "../../local/create.ts";
import { checkManifest } from "../../local/change.ts";
import { Lock } from "../../local/lock.ts";
import { thisMachine } from "../../local/machine.ts";
import { warningsOf, type Change } from "../../local/operations.ts";
import type { Done } from "../../local/verb.ts";
import { commandOf } from "../called.ts";
import { UsageError, type CliIo } from "../io.ts";
import { changeOptions, readChange } from "./change.ts";
import { haveEtcd } from "./installing.ts";
import { print, warn } from "./output.ts";
import { exactly, parse, placeOf, type Place } from "./place.ts";
import { call, hasController } from "./session.ts";
import { ending } from "./usage.ts";

export const summary = "apply an EtcdCluster manifest";
export const usage = (command: string): string => `Usage: ${command} local apply -f <file> [options]

Options:
  -f, --file <file>       EtcdCluster manifest; - reads standard input
${ending(command, ["Apply a manifest", "apply -f cluster.yaml"], ["A manifest from standard input", "apply -f - --name demo"])}`;

export async function run(args: string[], io: CliIo): Promise<number> {
  const { values, positionals } = parse(args, { file: changeOptions.file });
  exactly(positionals);
  if (values.file === undefined) throw new UsageError("no manifest given: use -f <file>");
  const { change, name, version } = await readChange(values, io);
  const place = placeOf(values, io, name);
  return await applyChange(place, io, change, version);
}

/** For every verb that changes the spec. */
export async function applyChange(
  place: Place,
  io: CliIo,
  change: Change | undefined,
  version: string | undefined,
): Promise<number> {
  if (version !== undefined) await haveEtcd(version, io);
  const { seams } = thisMachine(io);
  const exists = (await seams.disk.stat(place.layout.cluster)) !== undefined;
  const done =
    exists || !change || !("manifest" in change)
      ? await call(place, io, "apply", change)
      : await create(place, io, change.manifest);
  warn(io, done.warnings);
  print(io, place, done, done.text);
  if (!place.json && !(await hasController(place, io))) {
    io.stdout.write(
      `The spec is stored and takes effect when a controller runs. Start one with: ${commandOf(io)} local up\n`,
    );
  }
  return 0;
}

async function create({ layout }: Place, io: CliIo, manifest: unknown): Promise<Done> {
  const { seams } = thisMachine(io);
  const checked = checkManifest(manifest, undefined);
  await checkDirectory(layout, seams.disk);
  await seams.disk.makeDirectory(layout.dir);
  const lock = await Lock.take(layout, seams, "");
  try {
    await createCluster(layout, checked, seams);
  } finally {
    await lock.release();
  }
  return { text: `${checked.name} created in ${layout.dir}`, warnings: warningsOf(checked) };
}
