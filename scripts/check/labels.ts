/**
 * Internal labels (R, H or I with a number) are for comments and developers' pages. In anything that a user
 * reads they mean nothing: strings of the product, resource definitions, installation files, users' pages.
 */
import { finding, type Check } from "./check.ts";
import { usersFiles, usersStrings } from "./users-text.ts";

const label = /\b[RHI]\d{1,2}\b/g;

/** Pages for developers, which explain the labels or cite them. */
const forDevelopers = new Set(["docs/rules.md", "docs/proof.md"]);

export const labels: Check = {
  name: "labels",
  run: (repo) =>
    [
      ...usersStrings(repo, label),
      ...usersFiles(repo).filter(({ path }) => !forDevelopers.has(path)),
    ].flatMap(({ path, text, lineOf }) =>
      [...text.matchAll(label)].map((match) => finding(path, lineOf(match.index), message(match[0]))),
    ),
};

function message(found: string): string {
  return `the internal label "${found}" stands in text for users: say in words what is meant`;
}
