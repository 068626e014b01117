/**
 * The tree that the checks look at: its files, their text, their syntax. Everything is read once.
 */
import { execFileSync } from "node:child_process";
import { existsSync, globSync, readFileSync, statSync } from "node:fs";
import { join, relative } from "node:path";
import { parseSource, type Source } from "./syntax.ts";

export interface Repo {
  readonly root: string;
  /** Paths from the root: what git tracks or would track. */
  readonly files: readonly string[];
  text(path: string): string;
  syntax(path: string): Source;
}

export function openRepo(root: string): Repo {
  // A file deleted but not yet committed is still listed by git, and so is a link to a directory.
  const isFile = (path: string) => statSync(join(root, path), { throwIfNoEntry: false })?.isFile() ?? false;
  const files = [...new Set(listed(root))].filter((path) => path !== "" && isFile(path));
  return repoOf(root, files.toSorted(), (path) => readFileSync(join(root, path), "utf8"));
}

function listed(root: string): string[] {
  // An unpacked archive has no git; everything in it that is not made here belongs to the tree.
  if (!existsSync(join(root, ".git"))) {
    const skip = new Set(["node_modules", "dist", "coverage"]);
    return globSync("**/*", { cwd: root, withFileTypes: true, exclude: (entry) => skip.has(entry.name) })
      .filter((entry) => entry.isFile())
      .map((entry) => relative(root, join(entry.parentPath, entry.name)));
  }
  // CI often runs in a clone that another user owns, which git refuses to look at unless told.
  const git = ["-c", "safe.directory=*", "ls-files", "-z", "--cached", "--others", "--exclude-standard"];
  const output = execFileSync("git", git, { cwd: root, encoding: "utf8", maxBuffer: 64 * 1024 * 1024 });
  return output.split("\0");
}

/** A tree that exists only in memory, for the tests of the checks. */
export function memoryRepo(contents: Readonly<Record<string, string>>): Repo {
  return repoOf("", Object.keys(contents), (path) => {
    const text = contents[path];
    if (text === undefined) throw new Error(`no such file: ${path}`);
    return text;
  });
}

function repoOf(root: string, files: readonly string[], read: (path: string) => string): Repo {
  const texts = new Map<string, string>();
  const sources = new Map<string, Source>();
  const repo: Repo = {
    root,
    files,
    text(path) {
      const known = texts.get(path);
      if (known !== undefined) return known;
      const text = read(path);
      texts.set(path, text);
      return text;
    },
    syntax(path) {
      const known = sources.get(path);
      if (known) return known;
      const source = parseSource(path, repo.text(path));
      sources.set(path, source);
      return source;
    },
  };
  return repo;
}

export function isTypeScript(path: string): boolean {
  return path.endsWith(".ts");
}

/** Tests, benchmarks, and what only they use: testing.ts, or a file in a folder of that name. */
export function isTest(path: string): boolean {
  return /\.(?:test|bench)\.ts$/.test(path) || /(?:^|\/)testing(?:\/|\.ts$)/.test(path);
}

/** Generated files answer to their generator, not to the rules for people. */
export function isGenerated(path: string): boolean {
  return path.endsWith("_pb.ts") || path.endsWith(".gen.ts");
}
