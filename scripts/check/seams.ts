/**
 * Time and randomness enter only through src/seams, so that the simulator can own both; this check finds
 * the calls that would go around it. `core` may not even look at its surroundings.
 */
import { finding, type Check } from "./check.ts";
import { isGenerated, isTest, isTypeScript } from "./repo.ts";
import { identifier, isNode, memberName, walk, type Node, type Source } from "./syntax.ts";

const CLOCK = "take a Clock (src/seams/clock.ts)";
const RANDOM = "take a Random (src/seams/random.ts)";
const DEADLINE = "use deadline() of src/seams/clock.ts";

/** Members of globals, as they are written. */
const members: Readonly<Record<string, string>> = {
  "Date.now": CLOCK,
  "Math.random": RANDOM,
  "AbortSignal.timeout": DEADLINE,
  "process.hrtime": CLOCK,
  "process.uptime": CLOCK,
  "performance.now": CLOCK,
  "performance.timeOrigin": CLOCK,
  "Temporal.Now": CLOCK,
};

const globals: Readonly<Record<string, string>> = {
  setTimeout: CLOCK,
  setInterval: CLOCK,
  setImmediate: CLOCK,
};

const modules: Readonly<Record<string, string>> = {
  "node:timers": CLOCK,
  "node:timers/promises": CLOCK,
  "node:perf_hooks": CLOCK,
};

/** Of node:crypto and of the global `crypto`. Key generation belongs to src/pki. */
const randomness = [
  "randomBytes",
  "randomFill",
  "randomFillSync",
  "randomInt",
  "randomUUID",
  "getRandomValues",
];
const keys = ["generateKey", "generateKeySync", "generateKeyPair", "generateKeyPairSync"];

/** What core may not name, besides all of the above. */
const surroundings = ["process", "globalThis", "console", "fetch", "crypto", "performance", "WebSocket"];

export const seams: Check = {
  name: "seams",
  run: (repo) => repo.files.filter(isGuarded).flatMap((path) => findings(repo.syntax(path))),
};

/** Tests may wait and draw; so may testbed/ and scripts/, which are never simulated. */
function isGuarded(path: string): boolean {
  if (!isTypeScript(path) || isTest(path) || isGenerated(path) || path.startsWith("src/seams/")) return false;
  // The one turn of the real event loop that virtual time waits for.
  if (path === "sim/engine/turn.ts") return false;
  return path.startsWith("src/") || path.startsWith("sim/");
}

function findings(source: Source): string[] {
  const core = source.path.startsWith("src/core/");
  const forbiddenCrypto = new Map(randomness.map((name) => [name, RANDOM]));
  if (!source.path.startsWith("src/pki/")) {
    for (const name of keys) forbiddenCrypto.set(name, "generate keys in src/pki");
  }
  const found: string[] = [];
  const say = (line: number, what: string, instead: string) =>
    found.push(finding(source.path, line, `${what} is forbidden here: ${instead}`));

  const cryptoNames = new Set(["crypto", "webcrypto"]);
  for (const one of source.imports) {
    const instead = modules[one.from.startsWith("node:") ? one.from : `node:${one.from}`];
    if (instead && !one.typeOnly) say(one.line, one.from, instead);
    if (one.from !== "node:crypto" && one.from !== "crypto") continue;
    for (const { imported, local } of one.names) {
      const why = forbiddenCrypto.get(imported);
      if (why) say(one.line, `${imported} of node:crypto`, why);
      if (imported === "*" || imported === "default" || imported === "webcrypto") cryptoNames.add(local);
    }
  }

  const own = declaredNames(source);
  walk(source.program, (node, parent, key) => {
    const line = source.lineOf(node.start);
    const dotted = dottedName(node);
    if (dotted && members[dotted]) say(line, dotted, members[dotted]);
    if (isDateOfNow(node)) say(line, "the current Date", CLOCK);
    const secret = forbiddenCrypto.get(memberName(node) ?? "");
    if (secret && isCrypto(node["object"], cryptoNames)) say(line, `crypto's ${memberName(node)}`, secret);
    const name = identifier(node);
    if (name === undefined || own.has(name) || !isReference(node, parent, key)) return;
    const instead = Object.hasOwn(globals, name) ? globals[name] : undefined;
    if (instead) say(line, name, instead);
    if (core && surroundings.includes(name)) say(line, name, "core sees only its arguments");
  });
  if (core) {
    walk(source.program, (node) => {
      if (node["async"] === true || node.type === "AwaitExpression") {
        say(source.lineOf(node.start), "asynchronous code", "core is synchronous");
      }
    });
  }
  return found;
}

/** Names the file itself declares somewhere: a variable called `process` is not Node's. */
function declaredNames(source: Source): Set<string> {
  const names = new Set(source.imports.flatMap((one) => one.names.map(({ local }) => local)));
  const collect = (pattern: unknown) => {
    if (!isNode(pattern)) return;
    walk(pattern, (node) => {
      const name = identifier(node);
      if (name !== undefined) names.add(name);
    });
  };
  walk(source.program, (node) => {
    if (node.type === "VariableDeclarator") collect(node["id"]);
    if (node.type === "FunctionDeclaration") collect(node["id"]);
    if (Array.isArray(node["params"])) node["params"].forEach(collect);
  });
  return names;
}

/** "Date.now" for both `Date.now` and `globalThis.Date.now`. */
function dottedName(node: Node): string | undefined {
  const property = memberName(node);
  if (property === undefined) return undefined;
  const object = node["object"];
  const name = identifier(object) ?? (isNode(object) ? memberName(object) : undefined);
  if (name === "globalThis" && globals[property]) return undefined;
  return name === undefined ? undefined : `${name}.${property}`;
}

/** `new Date()` and `Date()` read the clock; `new Date(0)` does not. */
function isDateOfNow(node: Node): boolean {
  if (identifier(node["callee"]) !== "Date") return false;
  if (node.type === "CallExpression") return true;
  return node.type === "NewExpression" && (node["arguments"] as Node[]).length === 0;
}

function isCrypto(object: unknown, names: ReadonlySet<string>): boolean {
  const name = identifier(object);
  if (name !== undefined) return names.has(name);
  return isNode(object) && ["crypto", "webcrypto", "subtle"].includes(memberName(object) ?? "");
}

/** A use of the name as a value: not a key, not a declaration, not a type, not another object's property. */
function isReference(node: Node, parent: Node | undefined, key: string): boolean {
  if (!parent || node.type !== "Identifier") return false;
  switch (parent.type) {
    case "MemberExpression":
      return key === "object" || parent["computed"] === true || identifier(parent["object"]) === "globalThis";
    case "Property":
      return key === "value" || parent["computed"] === true;
    case "PropertyDefinition":
    case "MethodDefinition":
      return (key === "value" && parent.type === "PropertyDefinition") || parent["computed"] === true;
    case "ImportSpecifier":
    case "ExportSpecifier":
    case "LabeledStatement":
    case "FunctionDeclaration":
    case "FunctionExpression":
    case "ArrowFunctionExpression":
      return key === "body";
    case "VariableDeclarator":
      return key === "init";
    default:
      return (
        !parent.type.startsWith("TS") ||
        parent.type === "TSAsExpression" ||
        parent.type === "TSNonNullExpression"
      );
  }
}
