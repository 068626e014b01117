/**
 * `npm run proof:planted [-- --bug text]`: plants one known fault after the other, in memory and never in the checkout,
 * and runs the tools from the quickest on until one catches it. A fault that nobody catches is a gap: exit 1.
 */
import { readFile } from "node:fs/promises";
import { matchesGlob } from "node:path";
import { globSync } from "node:fs";
import process from "node:process";
import { parseArgs } from "node:util";
import { plantedBugs, type PlantedBug } from "./planted-bugs.ts";
import { root, runTool, type Ended } from "./run-tool.ts";

interface Tool {
  readonly name: string;
  /** It runs the rules alone, and nothing between them and the wires. */
  readonly rulesOnly?: boolean;
  readonly args: (file: string) => readonly string[];
}

const TOOL_LIMIT_MS = 600_000;
const PROPERTIES = ["src/core/decide.test.ts", "src/core/walk.test.ts"];
const TEST = ["--test", "--test-isolation=none"];

/** Quickest first. The unit tests come after the oracles that know nothing of the rule at hand. */
const tools: readonly Tool[] = [
  { name: "properties of decide", rulesOnly: true, args: () => [...TEST, ...PROPERTIES] },
  { name: "exhaustive search", rulesOnly: true, args: () => ["sim/exhaustive/main.ts", "--limit", "3000"] },
  { name: "unit tests", args: (file) => [...TEST, ...testsAround(file)] },
  { name: "random runs", rulesOnly: true, args: () => ["sim/main.ts", "--seeds", "60"] },
  { name: "enumerated crashes", rulesOnly: true, args: () => ["sim/main.ts", "--enumerate", "--every", "5"] },
  { name: "random runs of the product", args: () => ["sim/main.ts", "--machine", "--seeds", "12"] },
  {
    name: "enumerated crashes of the product",
    args: () => ["sim/main.ts", "--machine", "--enumerate", "--every", "6"],
  },
];

const say = (line: string) => void process.stdout.write(`${line}\n`);

/** All unit tests of the room that the file is in. */
function testsAround(file: string): string[] {
  const [, room = ""] = file.split("/");
  return globSync(`src/${room}/**/*.test.ts`, { cwd: root })
    .filter((path) => !PROPERTIES.some((property) => matchesGlob(path, property)))
    .toSorted();
}

async function plant({ name, also, ...edit }: PlantedBug): Promise<Record<string, string>> {
  const replaced: Record<string, string> = {};
  for (const { file, find, replace } of also ? [edit, also] : [edit]) {
    const text = replaced[file] ?? (await readFile(`${root}/${file}`, "utf8"));
    const found = text.split(find).length - 1;
    if (found !== 1)
      throw new RangeError(
        `${name}: the text to replace occurs ${found} times in ${file}: write the fault anew`,
      );
    replaced[file] = text.replace(find, () => replace);
  }
  return replaced;
}

/** What in its output says why, in one line. */
function reason({ output, code }: Ended): string {
  const lines = output.split("\n").map((line) => line.trim());
  const told = lines.find((line) =>
    /^(seed \d+: \w|✖ (?!failing)|[A-Z]\d+: |decision: |.*(crash after|lost reply of) effect|dead end|goes round)/.test(
      line,
    ),
  );
  return (told ?? lines.find((line) => line.includes("Error")) ?? `exit ${code}`).slice(0, 110);
}

async function main(): Promise<number> {
  const { values } = parseArgs({
    options: { bug: { type: "string" }, clean: { type: "boolean", default: false } },
  });
  const bugs = plantedBugs.filter(({ name }) => name.includes(values.bug ?? ""));
  if (values.clean) {
    for (const tool of tools) {
      const ended = await runTool({ args: tool.args("src/core/x"), limitMs: TOOL_LIMIT_MS, replaced: {} });
      say(`${ended.code === 0 ? "clean " : "FAILS "} ${tool.name} (${(ended.ms / 1000).toFixed(1)} s)`);
      if (ended.code !== 0) return 1;
    }
  }
  let missed = 0;
  let total = 0;
  for (const bug of bugs) {
    const replaced = await plant(bug);
    let ms = 0;
    let caught: string | undefined;
    const isRule = bug.file.startsWith("src/core/") || bug.file === "src/control/should-run.ts";
    for (const tool of tools.filter(({ rulesOnly }) => isRule || !rulesOnly)) {
      const ended = await runTool({ args: tool.args(bug.file), limitMs: TOOL_LIMIT_MS, replaced });
      ms += ended.ms;
      // Every tool ends by itself: one that was ended was too slow here, and says nothing.
      if (ended.code === undefined) say(`  ${tool.name} did not end within ${TOOL_LIMIT_MS / 1000} s`);
      if (ended.code === 0 || ended.code === undefined) continue;
      caught = `${tool.name}: ${reason(ended)}`;
      break;
    }
    if (caught === undefined) missed++;
    total += ms;
    const time = `${(ms / 1000).toFixed(1)} s`.padStart(7);
    say(`${caught === undefined ? "MISSED" : "caught"} ${time}  ${bug.breaks.padEnd(4)} ${bug.name}`);
    if (caught !== undefined) say(`                     by ${caught}`);
  }
  say(
    `${bugs.length} planted bugs, ${bugs.length - missed} caught, ${missed} missed, ${(total / 1000).toFixed(1)} s`,
  );
  return missed === 0 ? 0 : 1;
}

process.exitCode = await main();
