/**
 * Kubeconfig files, read and merged by kubectl's rules: of two entries with the same name the first counts, whole;
 * so does the first current context; files that do not exist are skipped; paths are seen from the file they stand in.
 */
import { dirname, isAbsolute, join } from "node:path";
import type { Disk } from "../../seams/disk.ts";
import { KubeConfigError } from "./types.ts";

export type Fields = Readonly<Record<string, unknown>>;

/** An entry, and the file it stands in. */
export interface Entry {
  readonly file: string;
  readonly name: string;
  readonly fields: Fields;
}

export interface MergedConfig {
  /** The files, for messages. */
  readonly where: string;
  readonly currentContext: string | undefined;
  readonly contexts: ReadonlyMap<string, Entry>;
  readonly clusters: ReadonlyMap<string, Entry>;
  readonly users: ReadonlyMap<string, Entry>;
}

const KINDS = { contexts: "context", clusters: "cluster", users: "user" } as const;
type Kind = keyof typeof KINDS;

export async function readMerged(disk: Disk, files: readonly string[]): Promise<MergedConfig> {
  const where = files.join(", ");
  const merged = {
    contexts: new Map<string, Entry>(),
    clusters: new Map<string, Entry>(),
    users: new Map<string, Entry>(),
  };
  let found = 0;
  let currentContext: string | undefined;
  for (const file of files) {
    const text = await disk.read(file);
    if (text === undefined) continue;
    found++;
    const parsed = await parseFile(file, text);
    const current = parsed["current-context"];
    if (typeof current === "string" && current !== "") currentContext ??= current;
    for (const kind of Object.keys(KINDS) as Kind[]) {
      for (const entry of entriesOf(file, parsed, kind))
        if (!merged[kind].has(entry.name)) merged[kind].set(entry.name, entry);
    }
  }
  if (found === 0) throw new KubeConfigError("missing", `no kubeconfig at ${where}`);
  return { where, currentContext, ...merged };
}

async function parseFile(file: string, text: string): Promise<Fields> {
  let parsed: unknown;
  try {
    parsed = fromJson(text) ?? (await fromYaml(text));
  } catch (cause) {
    throw new KubeConfigError("unreadable", `${file} is not YAML: ${(cause as Error).message}`, { cause });
  }
  // An empty file is what `touch` leaves, and kubectl takes it.
  if (parsed === null || parsed === undefined) return {};
  if (isFields(parsed)) return parsed;
  throw new KubeConfigError("unreadable", `${file} is not a kubeconfig`);
}

/** What a program wrote is often JSON, which is YAML too. */
function fromJson(text: string): unknown {
  if (!text.startsWith("{")) return undefined;
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** Its parser takes a megabyte, and is loaded when it is needed: in a Pod there is nothing to read. */
async function fromYaml(text: string): Promise<unknown> {
  const { parse } = await import("../../seams/yaml.ts");
  return parse(text);
}

function entriesOf(file: string, parsed: Fields, kind: Kind): Entry[] {
  const list = parsed[kind] ?? [];
  if (!Array.isArray(list)) throw new KubeConfigError("unreadable", `${file}: ${kind} is not a list`);
  const names = new Set<string>();
  return list.map((one: unknown, index) => {
    const name = isFields(one) ? one["name"] : undefined;
    if (!isFields(one) || typeof name !== "string")
      throw new KubeConfigError("unreadable", `${file}: ${kind}[${index}] has no name`);
    if (names.has(name))
      throw new KubeConfigError("unreadable", `${file}: ${kind} has two entries named "${name}": remove one`);
    names.add(name);
    const fields = one[KINDS[kind]] ?? {};
    if (!isFields(fields))
      throw new KubeConfigError("unreadable", `${file}: ${kind} "${name}": ${KINDS[kind]} is not a mapping`);
    return { file, name, fields };
  });
}

export function isFields(value: unknown): value is Fields {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** A path as seen from the file it stands in. */
export function resolved(from: string, file: string): string {
  return isAbsolute(file) ? file : join(dirname(from), file);
}

/** A field that is a text; empty counts as absent, as for kubectl. */
export function textIn(fields: Fields, name: string): string | undefined {
  const value = fields[name];
  return typeof value === "string" && value !== "" ? value : undefined;
}
