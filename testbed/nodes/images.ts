/**
 * What each image's name stands for on the testbed, whatever registry it names: `…/etcd:v<version>` is that etcd
 * (installed if need be), `busybox` Debian's, `pause` our own. Each is made when a node first asks for it.
 */
import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, realpathSync, renameSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import { ensureEtcd } from "../../src/etcd/install/ensure.ts";
import { systemClock } from "../../src/seams/clock.ts";
import { cacheDir, shortHash } from "../paths.ts";
import { writeImage } from "./oci.ts";
import type { ImageSpec } from "./oci.ts";
import { ensurePackages } from "./packages.ts";
import { ensurePrograms } from "./programs.ts";
import type { Entry } from "./tar.ts";

/** Raise it when images are made in another way, so that kept ones are made again. */
const RECIPE = "1";

export function imageStore(): string {
  return join(cacheDir(), "images");
}

/** The digest of the manifest for `repository:tag`, or nothing if the testbed knows no such image. */
export async function resolveImage(repository: string, tag: string): Promise<string | undefined> {
  const recipe = await recipeFor(basename(repository), tag);
  if (!recipe) return undefined;
  const store = imageStore();
  const known = join(store, `made-${recipe.key}`);
  if (existsSync(known)) return readFileSync(known, "utf8");
  const digest = writeImage(store, recipe.make());
  mkdirSync(store, { recursive: true });
  writeFileSync(`${known}.${process.pid}`, digest);
  renameSync(`${known}.${process.pid}`, known);
  return digest;
}

interface Recipe {
  key: string;
  make: () => ImageSpec;
}

async function recipeFor(name: string, tag: string): Promise<Recipe | undefined> {
  const key = (...parts: string[]) => shortHash(RECIPE, ...parts);
  if (name === "pause") {
    const { steward } = await ensurePrograms(() => {});
    return { key: key(steward), make: () => program("pause", steward, ["/pause"]) };
  }
  if (name === "busybox") {
    const usr = await ensurePackages(() => {});
    return { key: key("busybox", usr), make: () => busybox(join(usr, "bin", "busybox")) };
  }
  if (name === "etcd" && /^v?\d+\.\d+/.test(tag)) {
    const etcd = await ensureEtcd(tag, { env: process.env, clock: systemClock });
    const programs = [etcd.etcd, etcd.etcdctl, ...(etcd.etcdutl ? [etcd.etcdutl] : [])];
    return { key: key("etcd", etcd.version, etcd.source), make: () => etcdImage(programs) };
  }
  return undefined;
}

function program(path: string, from: string, entrypoint: string[]): ImageSpec {
  return { files: [{ path, kind: "copy", from, mode: 0o755 }], entrypoint };
}

function busybox(from: string): ImageSpec {
  const list = spawnSync(from, ["--list"], { encoding: "utf8" }).stdout.split("\n").filter(Boolean);
  const links = list
    .filter((name) => name !== "busybox")
    .map((name): Entry => ({ path: `bin/${name}`, kind: "link", to: "busybox" }));
  return {
    files: [
      { path: "bin/busybox", kind: "copy", from, mode: 0o755 },
      ...links,
      { path: "tmp", kind: "directory", mode: 0o1777 },
      { path: "etc/passwd", kind: "file", content: "root:x:0:0:root:/:/bin/sh\n", mode: 0o644 },
    ],
    cmd: ["sh"],
    env: ["PATH=/bin"],
  };
}

/** As the project's own images: the programs in /usr/local/bin, and the libraries they need, if any. */
function etcdImage(programs: string[]): ImageSpec {
  const libraries = new Set(programs.flatMap(librariesOf));
  return {
    files: [
      ...programs.map((from): Entry => ({
        path: `usr/local/bin/${basename(from)}`,
        kind: "copy",
        from,
        mode: 0o755,
      })),
      ...[...libraries].map((path): Entry => ({
        path: path.slice(1),
        kind: "copy",
        from: realpathSync(path),
        mode: 0o755,
      })),
      { path: "tmp", kind: "directory", mode: 0o1777 },
      { path: "etc/passwd", kind: "file", content: "root:x:0:0:root:/:/sbin/nologin\n", mode: 0o644 },
    ],
    cmd: ["/usr/local/bin/etcd"],
  };
}

/** The shared libraries of a program and its loader, at the paths where it looks for them; none if it is static. */
export function librariesOf(program: string): string[] {
  const { stdout } = spawnSync("ldd", [program], { encoding: "utf8" });
  return stdout
    .split("\n")
    .flatMap((line) => /(?:=> )?(\/\S+) \(0x/.exec(line)?.[1] ?? [])
    .filter((path) => existsSync(path));
}
