/**
 * Runs one stage: prepares it, runs its files together or apart, and tells what happens as it happens.
 */
import { relative } from "node:path";
import type { StageRecord, TestRecord } from "./records.ts";
import { seconds, type StageResult } from "./result.ts";
import type { Stage } from "./table.ts";
import { runTestProcess, type TestProcessEnd } from "./test-process.ts";
import type { Voice } from "./voice.ts";

export interface StageRun {
  readonly root: string;
  readonly stage: Stage;
  readonly files: readonly string[];
  readonly namePattern?: string;
  readonly signal: AbortSignal;
  readonly voice: Voice;
}

/** One stage, or several at the same time: then each line says whose it is. What they need is made one by one. */
export async function runStages(runs: readonly StageRun[]): Promise<StageResult[]> {
  const prepared: (() => Promise<StageResult>)[] = [];
  for (const run of runs) prepared.push(await prepareStage(run));
  return await Promise.all(prepared.map((runFiles) => runFiles()));
}

async function prepareStage(run: StageRun): Promise<() => Promise<StageResult>> {
  const { stage, voice } = run;
  const started = performance.now();
  voice.say(`▶ ${stage.title}`);
  const couldNotRun = await prepare(run);
  if (couldNotRun !== undefined) {
    voice.say(`  could not run: ${couldNotRun}`);
    const result = { ...new Tally(run).result(performance.now() - started), couldNotRun };
    return () => Promise.resolve(result);
  }
  const preparedMs = performance.now() - started;
  return () => runFiles(run, preparedMs);
}

async function runFiles(run: StageRun, preparedMs: number): Promise<StageResult> {
  const { stage, voice } = run;
  const started = performance.now() - preparedMs;
  const tally = new Tally(run);
  const groups = stage.processes === "together" ? [run.files] : run.files.map((file) => [file]);
  for (const files of groups) {
    if (run.signal.aborted) break;
    const { root, namePattern, signal } = run;
    const { testLimitMs, processLimitMs } = stage;
    const name = stage.processes === "apart" ? files.join(", ") : `${files.length} files`;
    voice.working(name);
    const end = await runTestProcess({
      root,
      files,
      testLimitMs,
      processLimitMs,
      signal,
      ...(namePattern === undefined ? {} : { namePattern }),
      onRecord: (record) => tally.take(record),
    });
    voice.idle();
    tally.end(end, name);
  }
  return tally.result(performance.now() - started);
}

async function prepare({ stage, voice, signal }: StageRun): Promise<string | undefined> {
  if (!stage.prepare) return undefined;
  const started = performance.now();
  try {
    const told = (text: string) => voice.progress(`${text} (${seconds(performance.now() - started)})`);
    return await stage.prepare(told, signal);
  } catch (error) {
    return `preparing failed: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}`;
  } finally {
    voice.idle();
  }
}

/** Counts a stage's tests and tells each file, and each failure, as it comes. */
class Tally {
  readonly #run: StageRun;
  readonly #failures: string[] = [];
  #tests = 0;
  #passed = 0;
  #failed = 0;
  #skipped = 0;
  #todo = 0;
  #file: { name: string; tests: number; failed: number; ms: number } | undefined;
  #failedBefore = 0;

  constructor(run: StageRun) {
    this.#run = run;
  }

  take(record: StageRecord): void {
    if (record.kind !== "test") return;
    const file = relative(this.#run.root, record.file);
    if (this.#file?.name !== file) {
      this.#tellFile();
      this.#file = { name: file, tests: 0, failed: 0, ms: 0 };
    }
    if (record.path.length === 1) this.#file.ms += record.ms;
    if (record.suite && (record.ok || record.error?.includes("subtest"))) return;
    this.#file.tests += 1;
    const name = record.path.join(" › ");
    const failed = !record.ok && !record.todo;
    if (failed) {
      this.#file.failed += 1;
      this.#failures.push(`${file}:${record.line}: ${name}\n${indent(beginning(record.error ?? ""))}`);
      this.#run.voice.say(`  ✖ ${name} (${file}:${record.line})\n${indent(record.error ?? "")}`);
    } else if (this.#run.stage.processes === "apart") {
      this.#run.voice.say(`    ${mark(record)} ${name} (${seconds(record.ms)})`);
    }
  }

  /** A process has ended: its own counts are the truth, its faults count as one failed test each. */
  end({ counts, faults, output }: TestProcessEnd, name: string): void {
    this.#tellFile();
    if (counts) {
      this.#tests += counts.tests;
      this.#passed += counts.passed;
      this.#failed += counts.failed + counts.cancelled;
      this.#skipped += counts.skipped;
      this.#todo += counts.todo;
    }
    for (const fault of faults) {
      this.#tests += 1;
      this.#failed += 1;
      this.#failures.push(`${name}: ${fault}`);
      this.#run.voice.say(`  ✖ ${name}: ${fault}`);
    }
    if (this.#failed > this.#failedBefore && output.trim() !== "") {
      this.#run.voice.say(`  what ${name} printed:\n${indent(output.trimEnd())}`);
    }
    this.#failedBefore = this.#failed;
  }

  result(ms: number): StageResult {
    return {
      title: this.#run.stage.title,
      tests: this.#tests,
      passed: this.#passed,
      failed: this.#failed,
      skipped: this.#skipped,
      todo: this.#todo,
      ms,
      failures: this.#failures,
    };
  }

  #tellFile(): void {
    if (!this.#file) return;
    const { name, tests, failed, ms } = this.#file;
    const count = failed > 0 ? `${failed} of ${tests} failed` : `${tests}`;
    this.#run.voice.say(`  ${failed > 0 ? "✖" : "✔"} ${name} (${count}, ${seconds(ms)})`);
    this.#file = undefined;
  }
}

function mark(record: TestRecord): string {
  if (record.skipped) return "﹣";
  return record.ok ? "✔" : "⚠";
}

/** Enough to see what went wrong where only the end of the run's output is kept. */
function beginning(text: string): string {
  const lines = text.split("\n");
  return lines.length > 40
    ? [...lines.slice(0, 40), `… ${lines.length - 40} more lines above`].join("\n")
    : text;
}

function indent(text: string): string {
  return text
    .split("\n")
    .map((line) => `      ${line}`)
    .join("\n");
}
