/**
 * Rules for every file of the tree: small, introduced by a comment, free of this or that machine's paths
 * and of package registries' hosts, and with nothing left for later.
 */
import { finding, type Check } from "./check.ts";
import { isGenerated, isTypeScript } from "./repo.ts";

const MOST_LINES = 400;

export const fileSize: Check = {
  name: "file size",
  run: (repo) =>
    repo.files
      .filter((path) => isTypeScript(path) && !isGenerated(path))
      .map((path) => ({ path, lines: repo.text(path).split("\n").length - 1 }))
      .filter(({ lines }) => lines > MOST_LINES)
      .map(({ path, lines }) =>
        finding(path, undefined, `${lines} lines, more than ${MOST_LINES}: split it by idea, one per file`),
      ),
};

export const introductions: Check = {
  name: "introductions",
  run: (repo) =>
    repo.files
      .filter((path) => isTypeScript(path) && !isGenerated(path) && !path.endsWith(".test.ts"))
      .filter((path) => !/^(#!.*\n)?\s*\/[*/]/.test(repo.text(path)))
      .map((path) => finding(path, 1, "begins without a comment that says what the file is for")),
};

/** Written in pieces where the pattern would otherwise find itself. */
const forbidden: readonly { pattern: RegExp; why: string }[] = [
  {
    pattern: /(?<![\w.~-])\/(?:root|home\/\w+|Users\/\w+|work)\//,
    why: "names a path of one machine",
  },
  {
    pattern:
      /registry\.(?:npmjs|yarnpkg)\.|(?:proxy|sum)\.golang\.|(?:deb|security)\.debian\.|pypi\.(?:org|python)|index\.crates\.|repo1?\.maven/,
    why: "names a package registry's host: packages are fetched by name, with the client as it is set up",
  },
  {
    pattern: new RegExp(`\\b(?:TO${"DO"}|FIX${"ME"})\\b`),
    why: "leaves something for later: do it or drop it",
  },
];

const binary = /\.(?:png|jpg|gif|ico|woff2?|gz|tgz|zip|db|snap)$/;

export const cleanText: Check = {
  name: "clean text",
  run: (repo) =>
    repo.files
      .filter((path) => !binary.test(path))
      .flatMap((path) => {
        const text = repo.text(path);
        if (!forbidden.some(({ pattern }) => pattern.test(text))) return [];
        return text.split("\n").flatMap((line, index) =>
          forbidden.flatMap(({ pattern, why }) => {
            const match = pattern.exec(line);
            return match ? [finding(path, index + 1, `"${match[0]}" ${why}`)] : [];
          }),
        );
      }),
};
