/**
 * `npm run proof:mutation [-- --file text[,text]] [--every N] [--threads N] [--quick]`: how many small faults in
 * src/core do its unit tests notice? Each mutant is judged by the test files whose code reaches it, the nearest and
 * quickest first; who outlives them meets the properties with more examples and the exhaustive search (not with
 * `--quick`). Ends with the survivors and a table by file. `--again output`: only those that an earlier run listed;
 * `--tests text[,text]`: only by some test files, such as those that were written since.
 */
import { globSync, readFileSync } from "node:fs";
import process from "node:process";
import { parseArgs } from "node:util";
import { systemClock } from "../../src/seams/clock.ts";
import { equivalents } from "./equivalent.ts";
import { Judge } from "./judge.ts";
import { mutantsOf, type Mutant } from "./mutants.ts";
import type { Answer } from "./mutation-worker.ts";
import { root } from "./run-tool.ts";

const WANTED = 0.85;
const LIMIT_MS = 20_000;
const FEW_RUNS = 40;
const MANY_RUNS = 150;
/** Whoever outlives the tests that reach it meets these, as long as there is time: who has not by then lives. */
const LAST = [
  "src/core/decide.test.ts",
  "src/core/plan/walk.test.ts",
  "sim/rules/exhaustive/exhaustive.test.ts",
];
const LAST_LIMIT_MS = 5 * 60_000;
const say = (line: string) => void process.stdout.write(`${line}\n`);

interface Covering {
  readonly test: string;
  readonly ms: number;
  readonly reached: NonNullable<Answer["reached"]>;
}

/** Each test file alone, with what it reaches. All must pass without a mutant. */
async function coverage(tests: readonly string[]): Promise<Covering[]> {
  const found: Covering[] = [];
  const judge = new Judge(FEW_RUNS);
  for (const [i, test] of tests.entries()) {
    const answer = await judge.ask({ id: `base-${i}`, tests: [test] }, 10 * LIMIT_MS);
    if (answer === "no answer" || answer.killedBy !== undefined)
      throw new Error(
        `without a mutant: ${answer === "no answer" ? `${test} does not end` : answer.killedBy}`,
      );
    found.push({ test, ms: answer.ms, reached: answer.reached ?? {} });
  }
  judge.end();
  return found;
}

/** The innermost range around a place says how often it was run. */
function reaches({ reached }: Covering, { file, start }: Mutant): boolean {
  let innermost: { length: number; count: number } | undefined;
  for (const { startOffset, endOffset, count } of reached[file] ?? []) {
    if (start < startOffset || start >= endOffset) continue;
    const length = endOffset - startOffset;
    if (!innermost || length <= innermost.length) innermost = { length, count };
  }
  return (innermost?.count ?? 0) > 0;
}

function testsFor(covering: readonly Covering[], mutant: Mutant): string[] {
  const own = mutant.file.replace(/\.ts$/, ".");
  return covering
    .filter((one) => reaches(one, mutant))
    .toSorted((a, b) => Number(b.test.startsWith(own)) - Number(a.test.startsWith(own)) || a.ms - b.ms)
    .map(({ test }) => test);
}

/** A place is known by its line's text, which survives that lines above it come and go. */
const keyOf = ({ file, at, what }: { readonly file: string; readonly at: string; readonly what: string }) =>
  `${file} | ${at} | ${what}`;

/** As the list of survivors tells it. */
const lineOf = ({ what, at }: Mutant) => `${what}  in  ${at}`;

interface Round {
  readonly runs: number;
  readonly threads: number;
  readonly limitMs?: number;
  readonly choose: (mutant: Mutant) => readonly string[];
}

interface Outcome {
  readonly lived: Mutant[];
  readonly silent: number;
  readonly unjudged: number;
}

async function judgeAll(
  mutants: readonly Mutant[],
  { runs, threads, limitMs = Infinity, choose }: Round,
): Promise<Outcome> {
  const began = systemClock.monotonic();
  const passed = () => systemClock.monotonic() - began;
  const lived: Mutant[] = [];
  let [next, judged, silent, unjudged] = [0, 0, 0, 0];
  const work = async () => {
    const judge = new Judge(runs);
    for (let i = next++; i < mutants.length; i = next++) {
      const mutant = mutants[i];
      if (!mutant) break;
      const tests = passed() < limitMs ? choose(mutant) : [];
      if (passed() >= limitMs) unjudged++;
      const answer =
        tests.length === 0
          ? { killedBy: undefined }
          : await judge.ask({ id: `${runs}-${i}`, mutant, tests }, LIMIT_MS);
      if (answer === "no answer") silent++;
      else if (answer.killedBy === undefined) lived.push(mutant);
      if (++judged % 100 === 0)
        say(`  ${judged} judged, ${lived.length} live (${Math.round(passed() / 1000)} s)`);
    }
    judge.end();
  };
  await Promise.all(Array.from({ length: threads }, work));
  return { lived, silent, unjudged };
}

function table(mutants: readonly Mutant[], lived: readonly Mutant[]): string[] {
  const count = (list: readonly Mutant[], file: string) => list.filter((one) => one.file === file).length;
  const rows = [...new Set(mutants.map(({ file }) => file))].map((file) => {
    const [all, live] = [count(mutants, file), count(lived, file)];
    return { score: 1 - live / all, text: `${file.padEnd(42)} ${String(all - live).padStart(5)} of ${all}` };
  });
  return rows.map(({ score, text }) => `${percent(score).padStart(8)}  ${text}`);
}

const percent = (score: number) => `${(score * 100).toFixed(1)} %`;

async function main(): Promise<number> {
  const { values } = parseArgs({
    options: {
      file: { type: "string", default: "" },
      every: { type: "string", default: "1" },
      threads: { type: "string", default: "2" },
      quick: { type: "boolean", default: false },
      again: { type: "string" },
      tests: { type: "string", default: "" },
    },
  });
  const began = systemClock.monotonic();
  const seconds = () => `${Math.round((systemClock.monotonic() - began) / 1000)} s`;
  const threads = Number(values.threads);
  const all = globSync("src/core/**/*.ts", { cwd: root }).toSorted();
  const isOneOf = (file: string, parts: string) => parts.split(",").some((part) => file.includes(part));
  const tests = all.filter((file) => file.endsWith(".test.ts") && isOneOf(file, values.tests));
  const files = all.filter(
    (file) => !file.endsWith(".test.ts") && !file.includes("/testing/") && isOneOf(file, values.file),
  );
  const known = new Map(equivalents.map((one) => [keyOf(one), one]));
  const candidates = files.flatMap((file) => mutantsOf(file, readFileSync(`${root}/${file}`, "utf8")));
  const keys = new Set(candidates.map(keyOf));
  const listed = values.again === undefined ? undefined : readFileSync(values.again, "utf8");
  const wanted = (mutant: Mutant) => listed === undefined || listed.includes(lineOf(mutant));
  const stale = equivalents.filter((one) => files.includes(one.file) && !keys.has(keyOf(one)));
  for (const one of stale) say(`no such mutant any more, take it off the list: ${keyOf(one)}`);
  const mutants = candidates
    .filter((mutant) => !known.has(keyOf(mutant)) && wanted(mutant))
    .filter((_, i) => i % Number(values.every) === 0);
  const covering = await coverage(tests);
  say(`${mutants.length} mutants of ${files.length} files, ${tests.length} test files (${seconds()})`);
  const first = await judgeAll(mutants, {
    runs: FEW_RUNS,
    threads,
    choose: (mutant) => testsFor(covering, mutant),
  });
  say(
    `${first.lived.length} live; they meet the properties with more examples, and the exhaustive search (${seconds()})`,
  );
  const last = await judgeAll(first.lived, {
    runs: MANY_RUNS,
    threads,
    limitMs: values.quick ? 0 : LAST_LIMIT_MS,
    choose: () => LAST,
  });
  const lived = last.lived.toSorted((a, b) =>
    a.file === b.file ? a.line - b.line : a.file < b.file ? -1 : 1,
  );
  for (const mutant of lived) say(`lives: ${mutant.file}:${mutant.line}  ${lineOf(mutant)}`);
  for (const row of table(mutants, lived)) say(row);
  if (last.unjudged > 0) say(`${last.unjudged} of the living did not meet the last tests: no time`);
  const score = mutants.length === 0 ? 1 : 1 - lived.length / mutants.length;
  say(
    `${mutants.length} mutants, ${mutants.length - lived.length} killed (${first.silent + last.silent} by not ending), ` +
      `${lived.length} live, ${equivalents.length} equivalent, score ${percent(score)}, ${seconds()}`,
  );
  return score >= WANTED && stale.length === 0 ? 0 : 1;
}

process.exitCode = await main();
