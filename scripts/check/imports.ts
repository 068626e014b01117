/**
 * Directions of import between folders, and, by layers.ts, within some of them. The table is the architecture: a folder
 * may import itself and the folders and files that its line names, and nothing else of ours.
 */
import { dirname, join } from "node:path/posix";
import { finding, type Check } from "./check.ts";
import { within } from "./layers.ts";
import { isGenerated, isTest, isTypeScript, type Repo } from "./repo.ts";
import type { Import } from "./syntax.ts";

const world = [
  "src/api",
  "src/seams",
  "src/http2",
  "src/etcd",
  "src/kube",
  "src/pki",
  "src/snapshot",
  "src/recovery",
];
const platforms = ["src/core", ...world];
const product = [...platforms, "src/control", "src/operator", "src/local", "src/cli"];

export const directions: Readonly<Record<string, readonly string[]>> = {
  // The resources and the seams stand on nothing.
  "src/api": [],
  "src/seams": [],
  // Pure: types of the resources, see `pure` below; and the formula of waits that grow, which everybody has from there.
  "src/core": ["src/api", "src/seams/backoff.ts"],
  // Talking to the world, each knowing nothing of who calls it.
  "src/http2": ["src/seams"],
  "src/etcd": ["src/seams", "src/http2"],
  "src/kube": ["src/seams", "src/http2"],
  "src/pki": ["src/seams"],
  // Of core, what to keep of many snapshots: the same for a folder as for a schedule.
  "src/snapshot": ["src/core", "src/seams", "src/api", "src/etcd"],
  "src/recovery": ["src/seams", "src/api", "src/etcd", "src/snapshot"],
  // The only places where core meets the world: the loop that all platforms share, and the platforms.
  "src/control": ["src/core", "src/api", "src/etcd", "src/seams"],
  "src/operator": [...platforms, "src/control"],
  "src/local": [...platforms, "src/control"],
  // On top.
  "src/cli": product,
  // Beside the product: nothing above imports these.
  testbed: world,
  sim: product,
  test: [...product, "sim", "testbed", "scripts"],
  scripts: [...product, "sim", "testbed", "test"],
};

/**
 * Folders that take no package and no module of Node's, and from others only types, or values of files that
 * import nothing themselves (how a duration is read, say).
 */
const pure = ["src/core"];

/** Packages and modules of Node's that have a home in the product; everybody else goes through it. */
const homes: Readonly<Record<string, readonly string[]>> = {
  // Schemas are checked at the edge; the rest of the product sees only their types.
  zod: ["src/api/"],
  "@peculiar/x509": ["src/pki/"],
  "reflect-metadata": ["src/pki/"],
  "@bufbuild/protobuf": ["src/etcd/", "src/seams/", "src/recovery/wal/", "src/recovery/testing/"],
  // Processes and disk are ports, so that the simulator can stand in for both.
  "node:child_process": ["src/seams/", "src/etcd/install/", "src/cli/"],
  // A store of snapshots is a port itself, and the one of files moves gigabytes, which `Disk` is not made for.
  "node:fs": [
    "src/recovery/rescue.ts",
    "src/recovery/erase.ts",
    "src/seams/",
    "src/etcd/install/",
    "src/cli/",
    "src/snapshot/store/",
  ],
};

export const importDirections: Check = {
  name: "imports",
  run: (repo) =>
    repo.files
      .filter((path) => isTypeScript(path) && !isGenerated(path) && (folderOf(path) ?? path) !== path)
      .flatMap((path) => check(repo, path)),
};

function check(repo: Repo, path: string): string[] {
  const folder = folderOf(path);
  if (folder === undefined) return [];
  const allowed = directions[folder];
  if (!allowed) {
    return [
      finding(path, undefined, `${folder} has no line in the table of scripts/check/imports.ts: add one`),
    ];
  }
  return repo.syntax(path).imports.flatMap((one) => {
    const message = one.from.startsWith(".") ? inside(repo, path, allowed, one) : outside(path, folder, one);
    return message === undefined ? [] : [finding(path, one.line, message)];
  });
}

/** An import of one of our files. */
function inside(repo: Repo, path: string, allowed: readonly string[], one: Import): string | undefined {
  const folder = folderOf(path) ?? "";
  const file = join(dirname(path), one.from);
  const target = folderOf(file);
  if (isTest(file) && !isTest(path) && folder.startsWith("src/")) {
    return `${one.from} is for tests: the product may not import it`;
  }
  const inner = isTest(path) ? undefined : innerDirection(path, file);
  if (inner !== undefined) return `${inner} (${one.from})`;
  if (target === undefined || target === folder) return undefined;
  if (!allowed.includes(target) && !allowed.includes(file)) {
    const may = allowed.length > 0 ? `only ${allowed.join(", ")}` : "nothing else of ours";
    return `${folder} may not import ${target} (${one.from}): it may import ${may}`;
  }
  if (pure.includes(folder) && !isTest(path) && !one.typeOnly && !standsAlone(repo, file)) {
    return `${folder} may import only types from ${target}, or values of files without imports: write "import type" (${one.from})`;
  }
  return undefined;
}

function innerDirection(path: string, file: string): string | undefined {
  const broken = within.find(
    ({ of, not, except }) =>
      path.startsWith(of) &&
      path !== file &&
      except?.includes(file) !== true &&
      not.some((to) => file === to || (to.endsWith("/") && file.startsWith(to))),
  );
  return broken && `${broken.of} may not import ${file}: ${broken.why}`;
}

function standsAlone(repo: Repo, file: string): boolean {
  return repo.files.includes(file) && repo.syntax(file).imports.every((one) => one.typeOnly);
}

/** An import of a package or of Node's own. Tests, and what is beside the product, take what they need. */
function outside(path: string, folder: string, one: Import): string | undefined {
  if (isTest(path) || !path.startsWith("src/")) return undefined;
  if (pure.includes(folder)) {
    return `${folder} is pure and may not import ${one.from}: what it needs to know belongs in its arguments`;
  }
  const homed = Object.entries(homes).find(([name]) => one.from === name || one.from.startsWith(`${name}/`));
  if (!homed || one.typeOnly || homed[1].some((prefix) => path.startsWith(prefix))) return undefined;
  return `${one.from} may be imported only in ${homed[1].join(", ")}: use what is there`;
}

/** "src/core/rules/x.ts" → "src/core"; "testbed/x.ts" → "testbed"; a file at the root belongs to none. */
function folderOf(path: string): string | undefined {
  const parts = path.split("/");
  if (parts.length < 2) return undefined;
  return parts[0] === "src" && parts.length > 2 ? `src/${parts[1]}` : parts[0];
}
