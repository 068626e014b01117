/**
 * The checksums of stubs in package-lock.json, as the registry tells them. A mirror that lacks a package tells none: its
 * stub stays without, and another registry may have it.
 */
import { execFile } from "node:child_process";
import process from "node:process";
import type { Lock, LockEntry } from "./stubs.ts";

/** The integrity of a package as `name@version`; undefined where the registry has no such package. */
export type AskIntegrity = (spec: string) => Promise<string | undefined>;

/** So many questions at a time. */
const AT_ONCE = 4;
const SHA512 = /^sha512-[A-Za-z0-9+/]{86}==$/;

export interface Verified {
  readonly text: string;
  /** Stubs that have no checksum still, as `name@version`. */
  readonly left: readonly string[];
}

export async function withIntegrity(text: string, ask: AskIntegrity): Promise<Verified> {
  const lock = JSON.parse(text) as Lock;
  const specs = new Set(withoutIntegrity(lock).map(({ spec }) => spec));
  const known = new Map<string, string>();
  const open = [...specs];
  const work = async () => {
    for (let spec = open.shift(); spec !== undefined; spec = open.shift()) {
      const told = await ask(spec);
      if (told !== undefined && SHA512.test(told)) known.set(spec, told);
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, work));
  const packages = { ...lock.packages };
  for (const { location, spec, entry } of withoutIntegrity(lock)) {
    const integrity = known.get(spec);
    const { version, ...rest } = entry;
    // In npm's order.
    if (integrity !== undefined) packages[location] = { ...(version && { version }), integrity, ...rest };
  }
  const left = [...specs].filter((spec) => !known.has(spec));
  return { text: `${JSON.stringify({ ...lock, packages }, null, 2)}\n`, left };
}

interface Unverified {
  readonly location: string;
  readonly spec: string;
  readonly entry: LockEntry;
}

/** Of packages that a registry has; the root and links are none. */
export function withoutIntegrity({ packages }: Lock): Unverified[] {
  return Object.entries(packages).flatMap(([location, entry]) => {
    if (location === "" || entry.link || entry.integrity !== undefined) return [];
    const name = location.slice(location.lastIndexOf("node_modules/") + "node_modules/".length);
    return [{ location, spec: `${name}@${entry.version}`, entry }];
  });
}

/** By the npm that started us, when it did; otherwise the one on PATH. */
export function askNpm(root: string): AskIntegrity {
  const running = process.env["npm_execpath"];
  const [command = "npm", ...first] = running?.endsWith("npm-cli.js") ? [process.execPath, running] : ["npm"];
  return (spec) =>
    new Promise((resolve) => {
      const args = [...first, "view", spec, "dist.integrity", "--json", "--fetch-retries=1"];
      execFile(command, args, { cwd: root, timeout: 60_000 }, (_error, stdout) =>
        resolve(integrityIn(stdout)),
      );
    });
}

/** npm answers with a text; with an object where it found no such package. */
function integrityIn(stdout: string): string | undefined {
  try {
    const told: unknown = JSON.parse(stdout);
    return typeof told === "string" ? told : undefined;
  } catch {
    return undefined;
  }
}
