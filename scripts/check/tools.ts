/**
 * The checks that are a tool's work: types (tsc), lint with types (oxlint), format (oxfmt), dead code (knip).
 * Their settings are in tsconfig.json, .oxlintrc.json, .oxfmtrc.json and knip.json.
 */
import { accessSync, constants, mkdirSync } from "node:fs";
import { dirname, join } from "node:path";
import { finding, type Check } from "./check.ts";
import { failureOf, runTool } from "./tool.ts";

/** `memory`: a file of the tree, in which tsc keeps what it found, to check only what has changed since. */
export function typesWith(memory?: string): Check {
  return {
    name: "types",
    async run({ root }) {
      const kept = memory !== undefined && canWrite(join(root, memory));
      const incremental = kept ? ["--incremental", "--tsBuildInfoFile", memory] : [];
      return failureOf(await runTool(root, "tsc", ["--noEmit", "--pretty", "false", ...incremental]), "tsc");
    },
  };
}

export const types: Check = typesWith("node_modules/.cache/types.tsbuildinfo");

/** Where packages are installed for all users, tsc would fail for want of the right to keep it. */
function canWrite(path: string): boolean {
  try {
    mkdirSync(dirname(path), { recursive: true });
    accessSync(dirname(path), constants.W_OK);
    return true;
  } catch {
    return false;
  }
}

export const lint: Check = {
  name: "lint",
  async run(repo) {
    const answer = await runTool(repo.root, "oxlint", ["--type-aware", "--format", "unix", "."]);
    return failureOf(answer, "oxlint");
  },
};

export const format: Check = {
  name: "format",
  async run(repo) {
    const answer = await runTool(repo.root, "oxfmt", ["--list-different", "."]);
    return failureOf(answer, "oxfmt").map((line) =>
      repo.files.includes(line) ? `${line}: not formatted: run npx oxfmt ${line}` : line,
    );
  },
};

/** One entry of knip's JSON: a file, and under each kind of issue the names it found. */
type KnipIssue = { file: string } & Record<string, { name: string; line?: number }[]>;

const dead: Readonly<Record<string, string>> = {
  files: "nothing imports this file, and no test does",
  exports: "is exported and used nowhere: use it, drop it, or keep it to its file",
  dependencies: "is a dependency that nothing imports: remove it",
  devDependencies: "is a dependency that nothing uses: remove it",
  unlisted: "is imported and not in package.json",
  unresolved: "cannot be found",
};

export const deadCode: Check = {
  name: "dead code",
  async run(repo) {
    const args = ["--no-progress", "--no-config-hints", "--reporter", "json"];
    const answer = await runTool(repo.root, "knip", args);
    const json = answer.lines.find((line) => line.startsWith('{"issues"'));
    if (json === undefined) return failureOf(answer, "knip");
    const { issues } = JSON.parse(json) as { issues: KnipIssue[] };
    return issues.flatMap(({ file, ...kinds }) =>
      Object.entries(kinds).flatMap(([kind, found]) =>
        found.map(({ name, line }) =>
          kind === "files"
            ? finding(file, undefined, dead["files"] ?? kind)
            : finding(file, line, `${name} ${dead[kind] ?? `(${kind})`}`),
        ),
      ),
    );
  },
};
