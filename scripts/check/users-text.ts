/**
 * What users read: strings of the product, and pages, resource definitions, installation files and the chart,
 * whether written by hand or generated.
 */
import { isGenerated, isTest, isTypeScript, type Repo } from "./repo.ts";
import { walk, type Node } from "./syntax.ts";

export interface UsersText {
  readonly path: string;
  readonly text: string;
  readonly lineOf: (offset: number) => number;
}

const files =
  /^(?:README|CHANGELOG|SECURITY)\.md$|^docs\/.+\.(?:md|svg)$|^config\/.+\.ya?ml$|^charts\/quorate\//;

/** Whole files, as `shown` makes their text; lines stay where they are. */
export function usersFiles(repo: Repo, shown = (_path: string, text: string) => text): UsersText[] {
  return repo.files
    .filter((path) => files.test(path))
    .map((path) => {
      const text = shown(path, repo.text(path));
      return { path, text, lineOf: (offset) => text.slice(0, offset).split("\n").length };
    });
}

/** String literals and the fixed parts of templates, of the files in which `pattern` is found at all; not comments. */
export function usersStrings(repo: Repo, pattern: RegExp): UsersText[] {
  return repo.files.filter(isProductSource).flatMap((path) => {
    if (repo.text(path).search(pattern) < 0) return [];
    const source = repo.syntax(path);
    const found: UsersText[] = [];
    walk(source.program, (node, parent) => {
      const text = textOf(node);
      if (text === undefined || parent?.type === "ImportDeclaration") return;
      // A literal begins with its quote; lines after the first of a template are counted from there.
      const line = (offset: number) =>
        source.lineOf(node.start) + text.slice(0, offset).split("\n").length - 1;
      found.push({ path, text, lineOf: line });
    });
    return found;
  });
}

function isProductSource(path: string): boolean {
  return path.startsWith("src/") && isTypeScript(path) && !isGenerated(path) && !isTest(path);
}

function textOf(node: Node): string | undefined {
  if (node.type === "Literal" && typeof node["value"] === "string") return node["value"];
  if (node.type === "TemplateElement") return (node["value"] as { raw: string }).raw;
  return undefined;
}
