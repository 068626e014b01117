/**
 * The programs of one etcd version in one directory: which there must be, and what they say they are.
 */
import { constants } from "node:fs";
import { access } from "node:fs/promises";
import path from "node:path";
import { hasEtcdutl } from "../versions.ts";
import { runCommand, type Env } from "./command.ts";

export type Program = "etcd" | "etcdctl" | "etcdutl";

export function programsOf(version: string): readonly Program[] {
  return hasEtcdutl(version) ? ["etcd", "etcdctl", "etcdutl"] : ["etcd", "etcdctl"];
}

/** The version in `etcd Version: 3.6.16`, `etcdctl version: 3.6.16` or `etcdutl version: 3.6.16`. */
export function parseVersionOutput(output: string): string | undefined {
  return /^etcd(?:ctl|utl)? version: (\d+\.\d+\.\d+)\S*$/im.exec(output)?.[1];
}

/** What `file` says it is; undefined when it does not run or says nothing we understand. */
export async function askVersion(file: string, env: Env, signal?: AbortSignal): Promise<string | undefined> {
  const isServer = path.basename(file) === "etcd";
  // etcdctl before 3.6 warns on unknown ETCDCTL_* variables and etcd reads ETCD_*: ask in a clean room.
  const clean = Object.fromEntries(Object.entries(env).filter(([name]) => !name.startsWith("ETCD")));
  const answer = await runCommand(file, [isServer ? "--version" : "version"], {
    env: { ...clean, ETCDCTL_API: "3" },
    ...(signal && { signal }),
  });
  return answer.code === 0 ? parseVersionOutput(answer.stdout) : undefined;
}

export async function isExecutable(file: string): Promise<boolean> {
  try {
    await access(file, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
