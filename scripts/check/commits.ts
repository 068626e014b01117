/**
 * Pages that say at which commit something was measured: each such commit is in the history, so that a reader can look
 * at the tree that was measured. A shallow clone has not all of it, and an archive has none.
 */
import { execFileSync } from "node:child_process";
import { finding, type Check } from "./check.ts";
import type { Repo } from "./repo.ts";
import { matches, withoutCode, withoutInlineCode } from "./text.ts";

/** A word of hexadecimal digits with both kinds; one of decimal digits only where the words before it say so. */
const cited =
  /(?<![\w./=-])(?:(?=[0-9]*[a-f])(?=[a-f]*[0-9])|(?<=\b(?:commit|just before) ))(?<commit>[0-9a-f]{7,12})(?![\w/=-]|\.\w)/g;

/** Their examples are of other things that look the same. */
const generated = /^<!-- Generated /;

/** All commits of the tree, in full; or why they are not known. */
export type History = (
  root: string,
) => { readonly commits: readonly string[] } | { readonly unknown: string };

export function commitsOf(history: History): Check {
  return {
    name: "cited commits",
    run(repo, note) {
      const known = history(repo.root);
      if ("unknown" in known) {
        note?.(`commits that pages cite were not looked up: ${known.unknown}`);
        return [];
      }
      const pages = repo.files.filter((path) => path.endsWith(".md") && !generated.test(repo.text(path)));
      return pages.flatMap((path) => unknownIn(repo, path, known.commits));
    },
  };
}

export const commits: Check = commitsOf(historyOfGit);

function unknownIn(repo: Repo, path: string, known: readonly string[]): string[] {
  return matches(withoutInlineCode(withoutCode(repo.text(path))), cited).flatMap(
    ({ line, groups: { commit = "" } }) =>
      known.some((one) => one.startsWith(commit))
        ? []
        : [
            finding(
              path,
              line,
              `commit ${commit} is not in the history: measure again, or write "an earlier tree"`,
            ),
          ],
  );
}

function historyOfGit(root: string): ReturnType<History> {
  const git = (...args: string[]) =>
    // CI often runs in a clone that another user owns, which git refuses to look at unless told.
    execFileSync("git", ["-c", "safe.directory=*", ...args], {
      cwd: root,
      encoding: "utf8",
      maxBuffer: 2 ** 26,
      stdio: ["ignore", "pipe", "ignore"],
    }).trim();
  try {
    if (git("rev-parse", "--is-shallow-repository") === "true") return { unknown: "this clone is shallow" };
    return { commits: git("rev-list", "HEAD").split("\n") };
  } catch {
    return { unknown: "there is no history here" };
  }
}
