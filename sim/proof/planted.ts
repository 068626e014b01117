/**
 * `npm run proof:planted [-- --list rules|operator|harm|clocks|operations|auth|data] [--bug text] [--file text]
 * [--threads N] [--limit seconds] [--clean] [--keep]`: plants one known fault after the other, in memory and never in
 * the checkout, and runs the tools until one catches it: first the one that caught it when that was last kept
 * (caught-by.json), then from the quickest on. Ends with a table of bugs and the tools that caught them. The unit tests
 * beside the line are no such tool, since they were written with it: a fault that only they catch is a gap like one that
 * no tool catches: exit 1. A tool that took too long says nothing, and a fault that no other caught then counts as not
 * judged: exit 1 as well. One that was ended from outside ends the run. `--clean`: first all tools without a fault.
 * `--keep`: writes which tool caught which fault.
 */
import { matchesGlob } from "node:path";
import { globSync } from "node:fs";
import process from "node:process";
import { parseArgs } from "node:util";
import { systemClock } from "../../src/seams/clock.ts";
import { denials } from "../operator/denial-schedule.ts";
import { keepCaughtBy, readCaughtBy } from "./caught-by.ts";
import { allPlanted, lists, plant } from "./plant.ts";
import { situations, type PlantedBug } from "./planted-bugs.ts";
import { root, runTool, type Ended } from "./run-tool.ts";

/** Where a fault sits: in the rules, in what both products share, or in one of them. */
type Room = "rules" | "control" | "machine" | "operator";

interface Tool {
  readonly name: string;
  /** Faults of these rooms can show in it. */
  readonly rooms: readonly Room[];
  readonly args: (file: string) => readonly string[];
  /** Tests of the very lines: to have failed them does not count as caught. */
  readonly beside?: boolean;
}

const PROPERTIES = ["src/core/decide.test.ts", "src/core/plan/walk.test.ts"];
const TEST = ["--test", "--test-isolation=none", "--test-reporter=spec"];
/** A test that failed, and has run until its own end; further ones may wait for what never comes. */
const FAILED = /^\s*✖ (?!failing)\S.*\n/m;
const sim = (...args: string[]) => ["sim/main.ts", "--stop", "--threads", "1", ...args];

/** Quickest first; what knows of the line at hand comes last. */
const tools: readonly Tool[] = [
  { name: "properties of decide", rooms: ["rules"], args: () => [...TEST, ...PROPERTIES] },
  {
    name: "exhaustive search",
    rooms: ["rules"],
    args: () => ["sim/rules/exhaustive/main.ts", "--limit", "3000"],
  },
  { name: "random runs", rooms: ["rules"], args: () => sim("--seeds", "60") },
  {
    name: "random observations",
    rooms: ["rules"],
    args: () => ["sim/rules/observations.ts", "--runs", "50000"],
  },
  { name: "enumerated faults", rooms: ["rules"], args: () => sim("--enumerate", "--every", "5") },
  {
    name: "lives of the operator",
    rooms: ["operator", "control"],
    args: () => [...TEST, "sim/operator/simulation.test.ts"],
  },
  {
    name: "every create of the operator, unanswered and unseen",
    rooms: ["operator"],
    args: () => sim("--operator", "--enumerate", "--scenario", "create", "--fault", "unseen"),
  },
  {
    name: "random runs of the product",
    rooms: ["rules", "control", "machine"],
    args: () => sim("--machine", "--seeds", "12"),
  },
  {
    name: "random runs of the operator",
    rooms: ["operator", "control"],
    args: () => sim("--operator", "--seeds", "16"),
  },
  {
    name: "random runs of the operator that deny it something",
    rooms: ["operator", "control"],
    args: () => sim("--operator", "--seeds", "16", "--deny", Object.keys(denials).join()),
  },
  ...situations.map((situation): Tool => ({
    name: `situation ${situation}`,
    rooms: ["operator", "control"],
    args: () => [...TEST, `sim/operator/${situation}.test.ts`],
  })),
  {
    name: "volumes that the operator takes over",
    rooms: ["rules", "control", "operator"],
    args: () => [...TEST, "sim/operator/adopt.test.ts"],
  },
  {
    name: "TLS changed on the operator",
    rooms: ["rules", "operator"],
    args: () => [...TEST, "sim/operator/sources.test.ts", "sim/operator/transitions.test.ts"],
  },
  {
    name: "users on the operator",
    rooms: ["rules"],
    args: () => [...TEST, "sim/operator/auth.test.ts", "sim/operator/tokens.test.ts"],
  },
  {
    name: "enumerated faults of the product",
    rooms: ["rules", "control", "machine"],
    args: () => sim("--machine", "--enumerate", "--every", "6"),
  },
  {
    name: "enumerated faults of the operator",
    rooms: ["operator"],
    args: () => sim("--operator", "--enumerate", "--every", "16"),
  },
  {
    name: "unit tests",
    rooms: ["rules", "control", "machine", "operator"],
    args: (file) => [...TEST, ...testsAround(file)],
    beside: true,
  },
];

const say = (line: string) => void process.stdout.write(`${line}\n`);

function roomOf(file: string): Room {
  if (file.startsWith("src/core/")) return "rules";
  if (file.startsWith("src/control/")) return "control";
  return file.startsWith("src/local/") ? "machine" : "operator";
}

/** All unit tests of the folder that the file is in. */
function testsAround(file: string): string[] {
  const [, folder = ""] = file.split("/");
  return globSync(`src/${folder}/**/*.test.ts`, { cwd: root })
    .filter((path) => !PROPERTIES.some((property) => matchesGlob(path, property)))
    .toSorted();
}

const caughtBy = readCaughtBy();

/** What is denied an operator only the operator's tools deny. */
function toolsFor({ name: bug, file, situation }: PlantedBug): Tool[] {
  const room = situation === undefined ? roomOf(file) : "operator";
  const first = caughtBy[bug] ?? `situation ${situation}`;
  const isFirst = ({ name }: Tool) => name === first;
  return tools
    .filter(({ rooms }) => rooms.includes(room))
    .toSorted((a, b) => Number(isFirst(b)) - Number(isFirst(a)));
}

const REASON =
  /^(Got error: does not hold|seed \d+: \w|✖ (?!failing)|[A-Z]\d+: |decision: |.*(crash-\w+|crash after|lost reply|reply-lost|conflict|timeout|unseen) of effect|dead end|goes round)/;

/** What in its output says why, in one line. */
function reason({ output, code }: Ended): string {
  const lines = output.split("\n").map((line) => line.trim());
  const reported = lines.find((line) => REASON.test(line));
  const text = reported ?? lines.find((line) => line.includes("Error")) ?? `exit ${code}`;
  return text.replace(/^✖ /, "").replace(/ \([\d.]+ms\)$/, "");
}

interface Judged {
  readonly bug: PlantedBug;
  readonly ms: number;
  readonly caught?: { readonly tool: Tool; readonly why: string };
  /** Tools that were too slow here, so that it is not known whether they catch it. */
  readonly unended: readonly Tool[];
}

const counts = ({ caught }: Judged) => caught !== undefined && caught.tool.beside !== true;
const isUnjudged = (judged: Judged) => !counts(judged) && judged.unended.length > 0;
const verdict = (judged: Judged) => (counts(judged) ? "caught" : isUnjudged(judged) ? "UNKNOWN" : "MISSED");

async function judge(bug: PlantedBug, limitMs: number): Promise<Judged> {
  const replaced = await plant(bug);
  let ms = 0;
  const unended: Tool[] = [];
  for (const tool of toolsFor(bug)) {
    const ended = await runTool({
      args: tool.args(bug.file),
      limitMs,
      replaced,
      found: FAILED,
    });
    ms += ended.ms;
    if (ended.interruptedBy !== undefined)
      throw new Error(
        `${bug.name}: ${tool.name} was ended from outside (${ended.interruptedBy}), so it is not known whether it catches this: run again with --bug`,
      );
    if (ended.code === undefined) {
      say(`  ${tool.name} did not end within ${limitMs / 1000} s`);
      unended.push(tool);
      continue;
    }
    if (ended.code !== 0) return { bug, ms, unended, caught: { tool, why: reason(ended) } };
  }
  return { bug, ms, unended };
}

const seconds = (ms: number) => `${(ms / 1000).toFixed(1)} s`;

function row(judged: Judged): string {
  const { bug, ms, caught, unended } = judged;
  const slow = `not known: ${unended.map(({ name }) => name).join(", ")} did not end`;
  const cells = [
    bug.breaks,
    bug.name,
    isUnjudged(judged) ? slow : caught ? `${caught.tool.beside ? "ONLY " : ""}${caught.tool.name}` : "NOBODY",
    caught?.why.slice(0, 160) ?? "",
    seconds(ms),
  ];
  return `| ${cells.map((cell) => cell.replaceAll("|", "/")).join(" | ")} |`;
}

async function allClean(limitMs: number): Promise<boolean> {
  for (const tool of tools) {
    const ended = await runTool({ args: tool.args("src/core/x"), limitMs, replaced: {} });
    say(`${ended.code === 0 ? "clean " : "FAILS "} ${tool.name} (${seconds(ended.ms)})`);
    if (ended.code !== 0) return false;
  }
  return true;
}

async function main(): Promise<number> {
  const { values } = parseArgs({
    options: {
      list: { type: "string" },
      bug: { type: "string", default: "" },
      file: { type: "string", default: "" },
      threads: { type: "string", default: "2" },
      limit: { type: "string", default: "300" },
      clean: { type: "boolean", default: false },
      keep: { type: "boolean", default: false },
    },
  });
  const limitMs = Number(values.limit) * 1000;
  if (values.clean && !(await allClean(limitMs))) return 1;
  const began = systemClock.monotonic();
  const listed = values.list === undefined ? allPlanted : lists[values.list];
  if (!listed) throw new RangeError(`--list is one of ${Object.keys(lists).join(", ")}`);
  const bugs = listed.filter(({ name, file }) => name.includes(values.bug) && file.includes(values.file));
  const judged: Judged[] = [];
  let next = 0;
  const work = async () => {
    for (let bug = bugs[next++]; bug; bug = bugs[next++]) {
      const result = await judge(bug, limitMs);
      judged.push(result);
      say(`${verdict(result).padEnd(7)} ${seconds(result.ms).padStart(8)}  ${bug.name}`);
    }
  };
  await Promise.all(Array.from({ length: Number(values.threads) }, work));
  say("\n| breaks | planted | caught by | what it said | time |\n|---|---|---|---|---:|");
  for (const one of judged.toSorted((a, b) => bugs.indexOf(a.bug) - bugs.indexOf(b.bug))) say(row(one));
  if (values.keep) {
    const found = judged.flatMap((one) =>
      counts(one) && one.caught ? [[one.bug.name, one.caught.tool.name]] : [],
    );
    await keepCaughtBy(
      Object.fromEntries(found),
      allPlanted.map(({ name }) => name),
    );
  }
  const caught = judged.filter(counts).length;
  const time = seconds(systemClock.monotonic() - began);
  const unjudged = judged.filter(isUnjudged).length;
  const missed = bugs.length - caught - unjudged;
  const rest = unjudged > 0 ? `, ${unjudged} not judged` : "";
  say(`\n${bugs.length} planted bugs, ${caught} caught, ${missed} missed${rest}, ${time}`);
  return caught === bugs.length ? 0 : 1;
}

process.exitCode = await main();
