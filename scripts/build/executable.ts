/**
 * Executables that need no Node, no npm and no repository beside them: the Node binary of the machine with the bundle
 * in it, as a single executable application (SEA). Node 24 makes the blob (`--experimental-sea-config`) and leaves
 * putting it into a binary to others; elf.ts does that, so no package with a linker in WebAssembly is needed, and the
 * binary of another machine can be written here, too.
 */
import { execFile } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { bundleForExecutable } from "./bundle.ts";
import { machineOf, noteOf, withNote, type Machine } from "./elf.ts";
import { sbomOf, sha256Of } from "./sbom.ts";
import type { ChosenNode } from "./official-node.ts";
import type { PackagedNode } from "./packaged-node.ts";
import { smoke } from "./smoke.ts";

export const MACHINES: readonly Machine[] = ["x64", "arm64"];
/** Where Node looks for the blob, and the mark that makes it look: both are Node's own constants. */
const NOTE = "NODE_SEA_BLOB";
const FUSE = "NODE_SEA_FUSE_fce680ab2cc467b6e072b8b5df1996b2:";

export interface Executable {
  readonly machine: Machine;
  readonly path: string;
  readonly bytes: number;
  /** What it answered to `--version`; unset where it cannot run here. */
  readonly version?: string;
}

/** Writes `<folder>/quorate-linux-<machine>` for each machine, with its bill of materials, and the licenses of what is in them. */
export async function buildExecutables(
  root: string,
  folder: string,
  machines: readonly Machine[],
  nodeFor: (machine: Machine) => Promise<ChosenNode>,
  tell: (text: string) => void,
): Promise<Executable[]> {
  const work = mkdtempSync(join(tmpdir(), "quorate-executable-"));
  try {
    const { path: script, packages } = await bundleForExecutable(root, work);
    const made: Executable[] = [];
    for (const machine of machines) {
      const node = await nodeFor(machine);
      const blob = await seaBlob(script, node, work);
      const path = join(folder, `quorate-linux-${machine}`);
      tell(`writing ${path}`);
      made.push(await write(path, machine, readFileSync(node.path), blob));
      const artifact = { name: `quorate-linux-${machine}`, sha256: sha256Of(path) };
      const sbom = sbomOf(root, { packages, node: node.source, artifact });
      writeFileSync(`${path}.cdx.json`, `${JSON.stringify(sbom, undefined, 2)}\n`);
      const licenses = [node.license, `${script}.LEGAL.txt`].map((file) => readFileSync(file, "utf8"));
      writeFileSync(join(folder, "quorate-linux.LICENSES.txt"), licenses.join("\n\n"));
    }
    return made;
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
}

/** The same for every machine, as long as it holds neither compiled code nor a snapshot of the heap. */
async function seaBlob(script: string, node: PackagedNode, work: string): Promise<Buffer> {
  // The form of the blob belongs to the version of Node that reads it.
  if (process.version !== `v${node.version}`)
    throw new Error(
      `executables are made by the Node that goes into them, v${node.version}, and this is ${process.version}: run npm run build on Linux, where npm installs it`,
    );
  const output = join(work, "blob");
  const config = join(work, "sea.json");
  writeFileSync(config, JSON.stringify({ main: script, output, disableExperimentalSEAWarning: true }));
  await promisify(execFile)(process.execPath, ["--experimental-sea-config", config]);
  return readFileSync(output);
}

async function write(path: string, machine: Machine, node: Buffer, blob: Buffer): Promise<Executable> {
  const executable = inject(node, blob);
  if (machineOf(executable) !== machine)
    throw new Error(`the Node binary for ${machine} is for ${machineOf(executable)}`);
  if (!blobOf(executable)?.equals(blob)) throw new Error(`${path} would not find its program: not written`);
  mkdirSync(join(path, ".."), { recursive: true });
  rmSync(path, { force: true });
  writeFileSync(path, executable, { mode: 0o755 });
  const runs = process.platform === "linux" && process.arch === machine;
  return {
    machine,
    path,
    bytes: executable.length,
    ...(runs && { version: await smoke(path) }),
  };
}

/** `node` with the blob in it, and with the mark that there is one. */
export function inject(node: Buffer, blob: Buffer): Buffer {
  const fuse = Buffer.from(`${FUSE}0`, "latin1");
  const at = node.indexOf(fuse);
  if (at < 0 || node.indexOf(fuse, at + 1) >= 0)
    throw new Error("this Node binary cannot become a single executable: it has not exactly one unset fuse");
  const executable = withNote(node, NOTE, blob);
  executable.write("1", at + FUSE.length, "latin1");
  return executable;
}

/** The blob of an executable made by `inject`; unset if Node would not run one. */
export function blobOf(executable: Buffer): Buffer | undefined {
  return executable.includes(`${FUSE}1`) ? noteOf(executable, NOTE) : undefined;
}
