/**
 * Sentences are written in core/messages, one place for each, and nowhere else in core: who decides gives data. An error
 * that is thrown for a developer is no sentence of the product.
 */
import { finding, type Check } from "./check.ts";
import { isTest, isTypeScript } from "./repo.ts";
import { identifier, walk, type Node } from "./syntax.ts";

const CORE = "src/core/";
const WRITTEN_IN = ["src/core/messages/", "src/core/testing/"];
/** Words that join others to a sentence, or to a part of one. */
const JOINED =
  /(?:^|\s)(?:a|an|the|is|are|was|were|be|has|have|does|do|cannot|not|no|of|to|for|with|by|its|it|and|or)\s/i;
/** What these are given is for machines, or for who reads a stack. */
const NOT_READ = new Set(["shortHash", "RangeError", "TypeError"]);

export const sentences: Check = {
  name: "sentences",
  run: (repo) =>
    repo.files
      .filter((path) => path.startsWith(CORE) && isTypeScript(path) && !isTest(path))
      .filter((path) => !WRITTEN_IN.some((folder) => path.startsWith(folder)))
      .flatMap((path) => {
        const source = repo.syntax(path);
        const found: string[] = [];
        const unread: Node[] = [];
        walk(source.program, (node) => {
          if (NOT_READ.has(identifier(node["callee"]) ?? "")) unread.push(node);
          const text = textOf(node);
          if (text === undefined || !JOINED.test(text) || unread.some((outer) => holds(outer, node))) return;
          const line = source.lineOf(node.start);
          found.push(finding(path, line, `write "${text.trim()}" in a table of src/core/messages`));
        });
        return found;
      }),
};

function holds(outer: Node, inner: Node): boolean {
  return outer.start <= inner.start && inner.end <= outer.end;
}

function textOf(node: Node): string | undefined {
  if (node.type === "Literal" && typeof node["value"] === "string") return node["value"];
  if (node.type === "TemplateElement") return (node["value"] as { cooked: string }).cooked;
  return undefined;
}
