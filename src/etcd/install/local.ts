/**
 * etcds that are on this machine already and not ours: `$QUORATE_ETCD_DIR`, and programs on PATH.
 * They are used in place, when they are of the wanted version and complete.
 */
import path from "node:path";
import type { EtcdSource } from "../versions.ts";
import { askVersion, isExecutable, programsOf, type Program } from "./binaries.ts";
import type { Env } from "./command.ts";

export interface LocalEtcd {
  readonly source: EtcdSource;
  readonly dir: string;
  readonly programs: Readonly<Partial<Record<Program, string>>>;
}

/** Found, or why not in words for an error message (undefined: there was nothing to look at). */
export type LocalAnswer = { readonly found: LocalEtcd } | { readonly missing: string | undefined };

export interface LocalOptions {
  readonly env: Env;
  readonly signal?: AbortSignal;
}

export async function findInDir(version: string, options: LocalOptions): Promise<LocalAnswer> {
  const root = options.env["QUORATE_ETCD_DIR"];
  if (!root) return { missing: undefined };
  let reason = `QUORATE_ETCD_DIR (${root}) has neither etcd nor ${version}/etcd`;
  for (const dir of [path.join(root, version), root]) {
    if (!(await isExecutable(path.join(dir, "etcd")))) continue;
    const programs = programsOf(version).map((program) => [program, path.join(dir, program)] as const);
    const problem = await findProblem(version, programs, options);
    if (problem === undefined)
      return { found: { source: "dir", dir, programs: Object.fromEntries(programs) } };
    reason = `QUORATE_ETCD_DIR: ${problem}`;
  }
  return { missing: reason };
}

export async function findOnPath(version: string, options: LocalOptions): Promise<LocalAnswer> {
  const etcd = await which("etcd", options.env);
  if (etcd === undefined) return { missing: undefined };
  const programs: (readonly [Program, string])[] = [];
  for (const program of programsOf(version)) {
    programs.push([program, (await which(program, options.env)) ?? path.join(path.dirname(etcd), program)]);
  }
  const problem = await findProblem(version, programs, options);
  if (problem !== undefined) return { missing: `on PATH: ${problem}` };
  return { found: { source: "path", dir: path.dirname(etcd), programs: Object.fromEntries(programs) } };
}

async function findProblem(
  version: string,
  programs: readonly (readonly [Program, string])[],
  options: LocalOptions,
): Promise<string | undefined> {
  for (const [program, file] of programs) {
    if (!(await isExecutable(file))) return `${program} of ${version} is not there (${file})`;
    const says = await askVersion(file, options.env, options.signal);
    if (says !== version) return `${file} is ${says ?? "of an unknown version"}`;
  }
  return undefined;
}

async function which(program: string, env: Env): Promise<string | undefined> {
  for (const dir of (env["PATH"] ?? "").split(path.delimiter)) {
    if (dir !== "" && (await isExecutable(path.join(dir, program)))) return path.join(dir, program);
  }
  return undefined;
}
