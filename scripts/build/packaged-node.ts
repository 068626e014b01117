/**
 * The Node binaries that executables are made from: of the npm packages that package.json pins. npm installs only the
 * one of this machine; the other is fetched by npm once, checked against package-lock.json, and cached.
 */
import { execFile } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, renameSync, rmSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { cacheDir } from "../../testbed/paths.ts";
import type { Lock } from "../lock/stubs.ts";
import type { Machine } from "./elf.ts";

const run = promisify(execFile);

export interface PackagedNode {
  readonly version: string;
  /** The binary. */
  readonly path: string;
  readonly license: string;
}

/** The npm package of Node for a machine, as the lock has it. */
export function lockedNode(
  root: string,
  machine: Machine,
): { readonly name: string; readonly version: string; readonly integrity: string } {
  const name = `node-linux-${machine}`;
  const lock = JSON.parse(readFileSync(join(root, "package-lock.json"), "utf8")) as Lock;
  const { version, integrity } = lock.packages[`node_modules/${name}`] ?? {};
  if (version === undefined || integrity === undefined)
    throw new Error(`package-lock.json has no ${name} with an integrity: it is where executables come from`);
  return { name, version, integrity };
}

export async function packagedNode(
  root: string,
  machine: Machine,
  tell: (text: string) => void,
): Promise<PackagedNode> {
  const { name, version, integrity } = lockedNode(root, machine);
  const installed = join(root, "node_modules", name);
  const cached = join(cacheDir(), "node", `${version}-linux-${machine}`);
  const folder = existsSync(join(installed, "bin/node")) ? installed : cached;
  if (!existsSync(join(folder, "bin/node"))) {
    tell(`fetching ${name}@${version} with npm`);
    await fetchPackage(`${name}@${version}`, integrity, folder);
  }
  return { version, path: join(folder, "bin/node"), license: join(folder, "LICENSE") };
}

async function fetchPackage(spec: string, integrity: string, target: string): Promise<void> {
  mkdirSync(cacheDir(), { recursive: true });
  const work = mkdtempSync(join(cacheDir(), ".node-"));
  try {
    await npm(["pack", spec, "--pack-destination", work]);
    const archive = join(work, readdirSync(work).find((file) => file.endsWith(".tgz")) ?? "");
    const found = `sha512-${createHash("sha512").update(readFileSync(archive)).digest("base64")}`;
    if (found !== integrity)
      throw new Error(`${spec} from npm has ${found}, package-lock.json has ${integrity}: not used`);
    await run("tar", ["-xzf", archive, "-C", work, "package/bin/node", "package/LICENSE"]);
    mkdirSync(join(target, ".."), { recursive: true });
    rmSync(target, { recursive: true, force: true });
    renameSync(join(work, "package"), target);
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
}

/** The npm that started us, when it did; otherwise the one on PATH. */
async function npm(args: readonly string[]): Promise<void> {
  const running = process.env["npm_execpath"];
  const command = running?.endsWith("npm-cli.js") ? [process.execPath, running] : ["npm"];
  try {
    await run(command[0] ?? "npm", [...command.slice(1), ...args]);
  } catch (error) {
    const said = (error as { stderr?: string }).stderr?.trim() ?? String(error);
    throw new Error(`npm ${args.slice(0, 2).join(" ")} failed. Is the npm registry reachable?\n${said}`, {
      cause: error,
    });
  }
}
