/** A change as it is given on the command line: a manifest, or single fields. */
import { readFile } from "node:fs/promises";
import path from "node:path";
import { parseDocument } from "yaml";
import { parseClusterYaml } from "../../api/yaml.ts";
import { exactVersion } from "../../etcd/versions.ts";
import { InvalidInput } from "../../local/change.ts";
import type { Change } from "../../local/operations.ts";
import { UsageError, type CliIo } from "../io.ts";

export const changeOptions = {
  file: { type: "string", short: "f" },
  replicas: { type: "string" },
  version: { type: "string" },
} as const;

export const changeUsage = `  -f, --file <file>       EtcdCluster manifest; - reads standard input
      --replicas <n>      number of voting members; 0 hibernates
      --version <v>       etcd version: 3.6.16, or 3.6 for its newest patch`;

export interface GivenChange {
  /** Undefined when nothing was given. */
  readonly change: Change | undefined;
  /** The cluster's name in the manifest. */
  readonly name: string | undefined;
  /** The version that the change asks for. */
  readonly version: string | undefined;
}

interface ChangeValues {
  readonly file?: string | undefined;
  readonly replicas?: string | undefined;
  readonly version?: string | undefined;
}

export async function readChange(values: ChangeValues, io: CliIo): Promise<GivenChange> {
  const replicas = values.replicas === undefined ? undefined : wholeNumber("--replicas", values.replicas);
  const version = values.version === undefined ? undefined : givenVersion(values.version);
  if (values.file === undefined) {
    const fields = { ...(replicas !== undefined && { replicas }), ...(version !== undefined && { version }) };
    return { change: Object.keys(fields).length > 0 ? fields : undefined, name: undefined, version };
  }
  const { text, source } = await readText(values.file, io);
  const parsed = parseClusterYaml(text);
  if (!parsed.ok) throw new InvalidInput(parsed.errors, source);
  // The document as written, so that the controller checks it against what is stored.
  const manifest = parseDocument(text).toJS() as { spec?: object };
  const spec = {
    ...manifest.spec,
    ...(replicas !== undefined && { replicas }),
    ...(version !== undefined && { version }),
  };
  const { cluster } = parsed;
  return {
    change: { manifest: { ...manifest, spec } },
    name: cluster.metadata.name,
    version: version ?? cluster.spec.version,
  };
}

export async function readText(file: string, io: CliIo): Promise<{ text: string; source: string }> {
  if (file === "-") {
    let text = "";
    for await (const chunk of io.stdin) text += String(chunk);
    return { text, source: "standard input" };
  }
  const where = path.resolve(io.cwd, file);
  try {
    return { text: await readFile(where, "utf8"), source: file };
  } catch (cause) {
    const code = (cause as NodeJS.ErrnoException).code;
    const why = code === "ENOENT" ? "there is no such file" : (cause as Error).message;
    throw new UsageError(`-f ${file}: ${why}`, { cause });
  }
}

export function wholeNumber(option: string, text: string): number {
  if (!/^\d{1,4}$/.test(text)) throw new UsageError(`${option} ${text}: must be a whole number`);
  return Number(text);
}

/** `3.6` means its newest patch; anything that is no version is told by the schema. */
export function givenVersion(text: string): string {
  return exactVersion(text) ?? text;
}
