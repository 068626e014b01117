/**
 * For the tests of the checks that run a tool: a small tree on disk with this repository's settings, the
 * planted files, and its node_modules.
 */
import { execFileSync } from "node:child_process";
import { cpSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import type { TestContext } from "node:test";
import { fileURLToPath } from "node:url";
import { openRepo, type Repo } from "./repo.ts";

const root = fileURLToPath(new URL("../..", import.meta.url));
const settings = [
  "tsconfig.json",
  ".oxlintrc.json",
  ".oxfmtrc.json",
  "knip.json",
  "package.json",
  ".gitignore",
];

/** The tree goes away with the test. */
export function plantedRepo(t: TestContext, contents: Readonly<Record<string, string>>): Repo {
  const folder = mkdtempSync(join(tmpdir(), "quorate-check-"));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  for (const name of settings) cpSync(join(root, name), join(folder, name));
  symlinkSync(join(root, "node_modules"), join(folder, "node_modules"));
  for (const [path, text] of Object.entries(contents)) {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    writeFileSync(join(folder, path), text);
  }
  execFileSync("git", ["init", "--quiet"], { cwd: folder });
  return openRepo(folder);
}
