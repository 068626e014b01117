/**
 * Internal labels (R, H or I with a number) are for comments and developers' pages. In anything that a user
 * reads they mean nothing: strings of the product, resource definitions, installation files, users' pages.
 */
import { finding, type Check } from "./check.ts";
import { isGenerated, isTest, isTypeScript, type Repo } from "./repo.ts";
import { walk, type Node } from "./syntax.ts";

const label = /\b[RHI]\d{1,2}\b/;

/** Pages for developers, which explain the labels or cite them. */
const forDevelopers = new Set(["docs/rules.md", "docs/proof.md"]);

/** Users read these as they are, whether written by hand or generated. */
const usersText = /^(?:README|CHANGELOG|SECURITY)\.md$|^docs\/.+\.(?:md|svg)$|^config\/.+\.ya?ml$/;

export const labels: Check = {
  name: "labels",
  run: (repo) => [
    ...repo.files.filter(isProductSource).flatMap((path) => inStrings(repo, path)),
    ...repo.files
      .filter((path) => usersText.test(path) && !forDevelopers.has(path))
      .flatMap((path) => inText(repo, path)),
  ],
};

function isProductSource(path: string): boolean {
  return path.startsWith("src/") && isTypeScript(path) && !isGenerated(path) && !isTest(path);
}

/** String literals and the fixed parts of templates; comments may cite labels. */
function inStrings(repo: Repo, path: string): string[] {
  if (!label.test(repo.text(path))) return [];
  const source = repo.syntax(path);
  const found: string[] = [];
  walk(source.program, (node) => {
    const match = label.exec(textOf(node) ?? "");
    if (match) found.push(finding(path, source.lineOf(node.start), message(match[0])));
  });
  return found;
}

function textOf(node: Node): string | undefined {
  if (node.type === "Literal" && typeof node["value"] === "string") return node["value"];
  if (node.type === "TemplateElement") return (node["value"] as { raw: string }).raw;
  return undefined;
}

function inText(repo: Repo, path: string): string[] {
  return repo
    .text(path)
    .split("\n")
    .flatMap((line, index) => {
      const match = label.exec(line);
      return match ? [finding(path, index + 1, message(match[0]))] : [];
    });
}

function message(found: string): string {
  return `the internal label "${found}" stands in text for users: say in words what is meant`;
}
