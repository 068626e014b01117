/**
 * Small faults for every line of a file: a comparison turned, an `and` for an `or`, a condition that always or never
 * holds, a constant off by one, `every` for `some`. Words that only people read are left alone.
 */
import { parseSync } from "oxc-parser";

interface Node {
  readonly type: string;
  readonly start: number;
  readonly end: number;
  readonly [key: string]: unknown;
}

export interface Mutant {
  /** From the root. */
  readonly file: string;
  readonly line: number;
  readonly start: number;
  readonly end: number;
  readonly text: string;
  /** The text of its line. */
  readonly at: string;
  /** What was there and what is there now, in one line. */
  readonly what: string;
}

const OPERATORS: Readonly<Record<string, readonly string[]>> = {
  "<": ["<=", ">="],
  "<=": ["<", ">"],
  ">": [">=", "<="],
  ">=": [">", "<"],
  "===": ["!=="],
  "!==": ["==="],
  "&&": ["||"],
  "||": ["&&"],
  "+": ["-"],
  "-": ["+"],
  "*": ["/"],
  "/": ["*"],
};
const METHODS: Readonly<Record<string, string>> = {
  some: "every",
  every: "some",
  max: "min",
  min: "max",
  floor: "ceil",
  ceil: "floor",
  find: "findLast",
  startsWith: "endsWith",
};
const COUNTS_BELOW = 1000;
/** Properties whose values are sentences for people. */
const WORDS = new Set(["message", "next", "reason", "detail", "says"]);

export function mutantsOf(file: string, source: string): Mutant[] {
  const program = parseSync(file, source).program as unknown as Node;
  const lineOf = (offset: number) => source.slice(0, offset).split("\n").length;
  const lines = source.split("\n");
  const found: Mutant[] = [];
  const add = (start: number, end: number, text: string) => {
    const brief = (words: string) => words.replaceAll(/\s+/g, " ").slice(0, 60);
    const what = `${brief(source.slice(start, end))} → ${brief(text) || "nothing"}`;
    const line = lineOf(start);
    found.push({ file, line, start, end, text, at: (lines[line - 1] ?? "").trim(), what });
  };
  const visit = (node: Node) => {
    if (node.type.startsWith("TS") && node.type !== "TSAsExpression" && node.type !== "TSNonNullExpression")
      return;
    if (node.type === "ImportDeclaration" || node.type === "TemplateLiteral") return;
    if (node.type === "Property" && WORDS.has(String((node["key"] as Node)["name"]))) return;
    mutate(node, source, add);
    for (const child of childrenOf(node)) visit(child);
  };
  visit(program);
  return found;
}

function mutate(node: Node, source: string, add: (start: number, end: number, text: string) => void): void {
  switch (node.type) {
    case "BinaryExpression":
    case "LogicalExpression": {
      const [left, right] = [node["left"] as Node, node["right"] as Node];
      const operator = String(node["operator"]);
      if (operator === "+" && [left, right].some(isText)) return;
      const at = source.indexOf(operator, left.end);
      for (const other of OPERATORS[operator] ?? []) add(at, at + operator.length, other);
      return;
    }
    case "UnaryExpression":
      if (node["operator"] === "!") add(node.start, node.start + 1, "");
      return;
    case "IfStatement":
    case "ConditionalExpression": {
      const test = node["test"] as Node;
      add(test.start, test.end, "true");
      add(test.start, test.end, "false");
      return;
    }
    case "ExpressionStatement":
      if ((node["expression"] as Node).type !== "StringLiteral") add(node.start, node.end, ";");
      return;
    case "Literal": {
      const { value } = node;
      // A duration or a size that is off by one is as good as before.
      if (typeof value === "number" && value < COUNTS_BELOW) add(node.start, node.end, String(value + 1));
      if (typeof value === "boolean") add(node.start, node.end, String(!value));
      return;
    }
    case "CallExpression": {
      const callee = node["callee"] as Node;
      if (callee.type !== "MemberExpression") return;
      const property = callee["property"] as Node;
      const name = String(property["name"]);
      const other = Object.hasOwn(METHODS, name) ? METHODS[name] : undefined;
      if (other !== undefined) add(property.start, property.end, other);
      const object = callee["object"] as Node;
      if (name === "filter" || name === "toSorted" || name === "toReversed") add(object.end, node.end, "");
      return;
    }
    default:
  }
}

function isText(node: Node): boolean {
  return node.type === "TemplateLiteral" || (node.type === "Literal" && typeof node["value"] === "string");
}

function childrenOf(node: Node): Node[] {
  return Object.values(node).flatMap((value) => {
    const items: unknown[] = Array.isArray(value) ? value : [value];
    return items.filter((item): item is Node => typeof (item as Node | null)?.type === "string");
  });
}
