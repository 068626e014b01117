/**
 * What a generator is, and how its files are compared with those on disk. `npm run generate` writes what
 * differs; `npm run check` only names it, so an edited or forgotten generated file cannot be committed.
 */
import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join, matchesGlob } from "node:path";

export interface Generator {
  /** Shown when its files drift. */
  readonly name: string;
  /** Globs from the root for files that only this generator makes: one that it no longer makes is reported. */
  readonly outputs?: readonly string[];
  /** Paths from the root, and what each file has to hold. */
  generate(): Promise<ReadonlyMap<string, string>>;
}

export interface Drift {
  readonly generator: string;
  readonly path: string;
  readonly kind: "missing" | "edited" | "orphan";
  /** What the file has to hold; nothing for an orphan. */
  readonly content?: string;
}

/** What differs between the generators' answers and the tree at `root`. `files` are the tree's paths. */
export async function findDrift(
  generators: readonly Generator[],
  root: string,
  files: readonly string[],
): Promise<Drift[]> {
  const answers = await Promise.all(
    generators.map(async (generator) => ({ generator, wanted: await generator.generate() })),
  );
  const drifts: Drift[] = [];
  for (const { generator, wanted } of answers) {
    for (const [path, content] of wanted) {
      const found = readIfThere(join(root, path));
      if (found === content) continue;
      const kind = found === undefined ? "missing" : "edited";
      drifts.push({ generator: generator.name, path, kind, content });
    }
    for (const path of files) {
      if (wanted.has(path) || !generator.outputs?.some((glob) => matchesGlob(path, glob))) continue;
      drifts.push({ generator: generator.name, path, kind: "orphan" });
    }
  }
  return drifts;
}

export function repair(drift: Drift, root: string): void {
  const path = join(root, drift.path);
  if (drift.content === undefined) {
    rmSync(path, { force: true });
    return;
  }
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, drift.content);
}

function readIfThere(path: string): string | undefined {
  try {
    return readFileSync(path, "utf8");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw error;
  }
}
