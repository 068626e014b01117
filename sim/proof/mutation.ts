/**
 * `npm run proof:mutation [-- --file text] [--every N]`: how many small faults in src/core do its unit tests notice?
 * Each mutant is judged by the test files whose code reaches it, the nearest and quickest first, in two processes.
 */
import { fork, type ChildProcess } from "node:child_process";
import { globSync, readFileSync } from "node:fs";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { systemClock } from "../../src/seams/clock.ts";
import { equivalents } from "./equivalent.ts";
import { mutantsOf, type Mutant } from "./mutants.ts";
import type { Answer, Question } from "./mutation-worker.ts";
import { root } from "./run-tool.ts";

const WANTED = 0.85;
const PROCESSES = 2;
/** Modules of earlier mutants stay in memory: a new process now and then. */
const MUTANTS_PER_PROCESS = 150;
const LIMIT_MS = 60_000;
const FEW_RUNS = 40;
const MANY_RUNS = 150;
/** Whoever outlives the tests that reach it meets these. */
const LAST = ["src/core/decide.test.ts", "src/core/walk.test.ts", "sim/exhaustive/exhaustive.test.ts"];
const say = (line: string) => void process.stdout.write(`${line}\n`);

/** One process, begun anew when it is worn out or does not answer. */
class Judge {
  #child: ChildProcess | undefined;
  #asked = 0;
  readonly #runs: number;

  /** `runs`: how many examples a property is tried with. */
  constructor(runs: number) {
    this.#runs = runs;
  }

  async ask(question: Question, limitMs: number): Promise<Answer | "no answer"> {
    if (this.#asked++ >= MUTANTS_PER_PROCESS) this.end();
    const child = (this.#child ??= fork(fileURLToPath(new URL("mutation-worker.ts", import.meta.url)), {
      cwd: root,
      env: { ...process.env, NODE_NO_WARNINGS: "1", PROPERTY_RUNS: String(this.#runs) },
      stdio: ["ignore", "ignore", "ignore", "ipc"],
    }));
    const answer = await new Promise<Answer | "no answer">((resolve) => {
      const limit = systemClock.timer(limitMs, () => resolve("no answer"));
      const done = (result: Answer | "no answer") => {
        limit.cancel();
        child.off("message", onMessage);
        child.off("exit", onExit);
        resolve(result);
      };
      const onMessage = (message: unknown) => done(message as Answer);
      const onExit = () => done("no answer");
      child.on("message", onMessage);
      child.on("exit", onExit);
      child.send(question);
    });
    if (answer === "no answer") this.end();
    return answer;
  }

  end(): void {
    this.#child?.kill("SIGKILL");
    this.#child = undefined;
    this.#asked = 0;
  }
}

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
  const own = mutant.file.replace(/\.ts$/, ".test.ts");
  return covering
    .filter((one) => reaches(one, mutant))
    .toSorted((a, b) => Number(b.test === own) - Number(a.test === own) || a.ms - b.ms)
    .map(({ test }) => test);
}

const keyOf = ({ file, what }: { readonly file: string; readonly what: string }) => `${file} ${what}`;

async function main(): Promise<number> {
  const { values } = parseArgs({
    options: { file: { type: "string", default: "" }, every: { type: "string", default: "1" } },
  });
  const began = systemClock.monotonic();
  const seconds = () => `${Math.round((systemClock.monotonic() - began) / 1000)} s`;
  const all = globSync("src/core/**/*.ts", { cwd: root }).toSorted();
  const tests = all.filter((file) => file.endsWith(".test.ts"));
  const files = all.filter(
    (file) => !file.endsWith(".test.ts") && !file.includes("/testing/") && file.includes(values.file),
  );
  const known = new Set(equivalents.map(keyOf));
  const mutants = files
    .flatMap((file) => mutantsOf(file, readFileSync(`${root}/${file}`, "utf8")))
    .filter((_, i) => i % Number(values.every) === 0)
    .filter((mutant) => !known.has(keyOf(mutant)));
  const covering = await coverage(tests);
  say(`${mutants.length} mutants of ${files.length} files, ${tests.length} test files (${seconds()})`);
  let silent = 0;
  const survivors = async (
    candidates: readonly Mutant[],
    runs: number,
    choose: (mutant: Mutant) => readonly string[],
  ): Promise<Mutant[]> => {
    const lived: Mutant[] = [];
    let judged = 0;
    let next = 0;
    const work = async () => {
      const judge = new Judge(runs);
      for (let i = next++; i < candidates.length; i = next++) {
        const mutant = candidates[i];
        if (!mutant) break;
        const chosen = choose(mutant);
        const answer =
          chosen.length === 0
            ? { id: "", ms: 0 }
            : await judge.ask({ id: `${runs}-${i}`, mutant, tests: chosen }, LIMIT_MS);
        if (answer === "no answer") silent++;
        else if (answer.killedBy === undefined) lived.push(mutant);
        if (++judged % 100 === 0) say(`  ${judged} judged, ${lived.length} live (${seconds()})`);
      }
      judge.end();
    };
    await Promise.all(Array.from({ length: PROCESSES }, work));
    return lived;
  };
  const first = await survivors(mutants, FEW_RUNS, (mutant) => testsFor(covering, mutant));
  say(
    `${first.length} live; they meet the properties with more examples, and the exhaustive search (${seconds()})`,
  );
  const lived = await survivors(first, MANY_RUNS, () => LAST);
  const score = mutants.length === 0 ? 1 : 1 - lived.length / mutants.length;
  for (const { file, line, what } of lived.toSorted((a, b) =>
    a.file === b.file ? a.line - b.line : a.file < b.file ? -1 : 1,
  ))
    say(`lives: ${file}:${line}  ${what}`);
  say(
    `${mutants.length} mutants, ${mutants.length - lived.length} killed (${silent} by not ending), ${lived.length} live, ` +
      `${known.size} equivalent, score ${(score * 100).toFixed(1)} %, ${seconds()}`,
  );
  return score >= WANTED ? 0 : 1;
}

process.exitCode = await main();
