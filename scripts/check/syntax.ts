/**
 * A file's syntax tree and its imports, as the checks need them. TypeScript 7 has no JavaScript API;
 * oxc's parser gives a plain ESTree.
 */
import { parseSync } from "oxc-parser";

/** Any node of the tree: the checks look at a few kinds and pass over the rest. */
export interface Node {
  readonly type: string;
  readonly start: number;
  readonly end: number;
  readonly [key: string]: unknown;
}

export interface Import {
  readonly from: string;
  /** Only types are imported: nothing is left of it at run time. */
  readonly typeOnly: boolean;
  /** Names of the exports that are imported; `*` for all, `default` for the default. */
  readonly names: readonly { readonly imported: string; readonly local: string }[];
  readonly line: number;
}

export interface Source {
  readonly path: string;
  readonly program: Node;
  readonly imports: readonly Import[];
  /** What the parser could not read. */
  readonly errors: readonly string[];
  lineOf(offset: number): number;
}

export function parseSource(path: string, text: string): Source {
  const parsed = parseSync(path, text);
  const program = parsed.program as unknown as Node;
  const starts = lineStarts(text);
  const lineOf = (offset: number) => lineAt(starts, offset);
  const imports: Import[] = [];
  walk(program, (node) => {
    const found = importOf(node);
    if (found) imports.push({ ...found, line: lineOf(node.start) });
  });
  return { path, program, imports, errors: parsed.errors.map((error) => error.message), lineOf };
}

/** Visits every node, parents before children; `parent` and `key` say where it hangs. */
export function walk(root: Node, visit: (node: Node, parent: Node | undefined, key: string) => void): void {
  const go = (node: Node, parent: Node | undefined, key: string): void => {
    visit(node, parent, key);
    for (const [name, value] of Object.entries(node)) {
      for (const child of Array.isArray(value) ? value : [value]) {
        if (isNode(child)) go(child, node, name);
      }
    }
  };
  go(root, undefined, "");
}

export function isNode(value: unknown): value is Node {
  return typeof value === "object" && value !== null && typeof (value as Node).type === "string";
}

/** The name of an identifier, or nothing for any other node. */
export function identifier(value: unknown): string | undefined {
  return isNode(value) && value.type === "Identifier" ? (value["name"] as string) : undefined;
}

/** `object.property` or `object["property"]`: the property's name. */
export function memberName(node: Node): string | undefined {
  if (node.type !== "MemberExpression") return undefined;
  return node["computed"] ? literal(node["property"]) : identifier(node["property"]);
}

function literal(value: unknown): string | undefined {
  return isNode(value) && typeof value["value"] === "string" ? value["value"] : undefined;
}

function importOf(node: Node): Omit<Import, "line"> | undefined {
  const from = literal(node["source"]);
  if (from === undefined) return undefined;
  switch (node.type) {
    case "ImportDeclaration": {
      const specifiers = (node["specifiers"] as Node[] | undefined) ?? [];
      const onlyTypes = specifiers.length > 0 && specifiers.every((one) => one["importKind"] === "type");
      const typeOnly = node["importKind"] === "type" || onlyTypes;
      return { from, typeOnly, names: specifiers.map(importedName) };
    }
    case "ExportNamedDeclaration":
    case "ExportAllDeclaration":
      return { from, typeOnly: node["exportKind"] === "type", names: [{ imported: "*", local: "" }] };
    case "ImportExpression":
      return { from, typeOnly: false, names: [{ imported: "*", local: "" }] };
    case "TSImportType":
      return { from, typeOnly: true, names: [] };
    default:
      return undefined;
  }
}

function importedName(specifier: Node): { imported: string; local: string } {
  const local = identifier(specifier["local"]) ?? "";
  if (specifier.type === "ImportNamespaceSpecifier") return { imported: "*", local };
  if (specifier.type === "ImportDefaultSpecifier") return { imported: "default", local };
  return { imported: identifier(specifier["imported"]) ?? literal(specifier["imported"]) ?? local, local };
}

function lineStarts(text: string): number[] {
  const starts = [0];
  for (let at = text.indexOf("\n"); at >= 0; at = text.indexOf("\n", at + 1)) starts.push(at + 1);
  return starts;
}

function lineAt(starts: readonly number[], offset: number): number {
  let low = 0;
  let high = starts.length - 1;
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if ((starts[middle] ?? 0) <= offset) low = middle;
    else high = middle - 1;
  }
  return low + 1;
}
