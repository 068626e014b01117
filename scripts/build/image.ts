/**
 * The operator's image, without a container engine: Node, the libraries it needs, the program, and nothing else;
 * no shell, no package manager. Written as an OCI archive that `testbed image load`, `ctr images import`,
 * `docker load` and `skopeo` read. `Dockerfile` makes the same for those who have an engine.
 */
import { execFile } from "node:child_process";
import { cpSync, readdirSync, realpathSync, rmSync, statSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import { librariesOf } from "../../testbed/nodes/images.ts";
import { imageTar, writeImage, type ImageSpec } from "../../testbed/nodes/oci.ts";
import type { Entry } from "../../testbed/nodes/tar.ts";
import { CONTAINER_USER } from "../generators/install/deployment.ts";
import type { Parts } from "./bundle.ts";
import { MEMORY_ENV, NODE, NODE_FLAGS, OPERATOR_AHEAD, OPERATOR_FLAGS, PROGRAM } from "./runtime.ts";

const CACHE = "app/cache";
/** V8 takes nothing that was compiled with other flags. What is asked for loads what is compiled. */
const RUNS = [
  { flags: NODE_FLAGS, asked: ["--help"] },
  { flags: OPERATOR_FLAGS, asked: OPERATOR_AHEAD },
];

export interface BuiltImage {
  readonly path: string;
  /** Of the files in it: what a node keeps. */
  readonly bytes: number;
  readonly digest: string;
  /** Of the system, which Node needs. */
  readonly libraries: readonly string[];
}

/** Puts `<folder>/quorate-image.tar` there, from the program and a binary of Node with its license beside. */
export async function buildImage(
  parts: Parts,
  folder: string,
  name: string,
  tell: (text: string) => void,
  binary = process.execPath,
): Promise<BuiltImage> {
  const work = join(folder, "image");
  rmSync(work, { recursive: true, force: true });
  try {
    for (const file of parts.files) cpSync(join(parts.folder, file), join(work, dirname(PROGRAM), file));
    tell("compiling ahead");
    const node = realpathSync(binary);
    const cached = await compileAhead(work, node);
    const libraries = librariesOf(node);
    if (libraries.length === 0) throw new Error(`ldd tells no libraries of ${node}: is this glibc's Linux?`);
    const spec = imageSpec(work, parts, node, libraries, cached);
    tell(`packing Node ${process.version}, ${libraries.length} libraries and the program`);
    const store = join(work, "blobs");
    const digest = writeImage(store, spec);
    const path = join(folder, "quorate-image.tar");
    writeFileSync(path, imageTar(store, digest, name));
    return { path, bytes: sizeOf(spec.files), digest, libraries };
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
}

function imageSpec(
  work: string,
  { files, licenses }: Parts,
  node: string,
  libraries: readonly string[],
  cached: readonly string[],
): ImageSpec {
  const copy = (path: string, from: string, mode = 0o644): Entry => ({ path, kind: "copy", from, mode });
  return {
    files: [
      copy(NODE, node, 0o755),
      ...libraries.map((path) => copy(path.slice(1), realpathSync(path), 0o755)),
      {
        path: "etc/passwd",
        kind: "file",
        content: `root:x:0:0:root:/:/sbin/nologin\nquorate:x:${CONTAINER_USER}:${CONTAINER_USER}:quorate:/:/sbin/nologin\n`,
        mode: 0o644,
      },
      copy("licenses/node.txt", join(dirname(node), "..", "LICENSE")),
      copy("licenses/packages.txt", licenses),
      ...[...files.map((file) => join(dirname(PROGRAM), file)), ...cached].map((path) =>
        copy(path, join(work, path)),
      ),
    ],
    entrypoint: [`/${NODE}`, ...NODE_FLAGS, `/${PROGRAM}`],
    cmd: ["operator"],
    env: [
      "PATH=/usr/local/bin",
      "NODE_ENV=production",
      `NODE_COMPILE_CACHE=/${CACHE}`,
      "NODE_COMPILE_CACHE_PORTABLE=1",
      ...Object.entries(MEMORY_ENV).map(([name, value]) => `${name}=${value}`),
    ],
    user: `${CONTAINER_USER}:${CONTAINER_USER}`,
  };
}

/**
 * Runs the program once with each set of flags and keeps what V8 compiled, at the same place relative to it as in the
 * image. Node keeps one such folder for each set and user, by number; in the image it is that of the container's. What V8 writes depends on the
 * seed of its hashes and on the program's path: with one seed, and by a path that is the same in every folder, the same
 * program gives the same image.
 */
export async function compileAhead(work: string, node = process.execPath): Promise<string[]> {
  const here = "/proc/self/cwd";
  const env = { PATH: "", NODE_COMPILE_CACHE: join(here, CACHE), NODE_COMPILE_CACHE_PORTABLE: "1" };
  for (const { flags, asked } of RUNS) {
    // Otherwise Node would follow the link in that path.
    const same = [...flags, "--random-seed=1", "--preserve-symlinks-main", "--preserve-symlinks"];
    await promisify(execFile)(node, [...same, join(here, PROGRAM), ...asked], { env, cwd: work });
  }
  const made = readdirSync(join(work, CACHE)).toSorted();
  const user = `-${process.getuid?.() ?? 0}`;
  if (made.length !== RUNS.length || !made.every((folder) => folder.endsWith(user)))
    throw new Error(`Node's compile cache looks different than expected: ${made.join(", ")}`);
  return made.flatMap((folder) => {
    const ours = `${folder.slice(0, -user.length)}-${CONTAINER_USER}`;
    cpSync(join(work, CACHE, folder), join(work, CACHE, ours), { recursive: true });
    return readdirSync(join(work, CACHE, ours)).map((file) => `${CACHE}/${ours}/${file}`);
  });
}

function sizeOf(files: readonly Entry[]): number {
  return files.reduce((sum, file) => sum + (file.kind === "copy" ? statSync(file.from).size : 0), 0);
}
