/**
 * Counts the tests of a stage, process by process, and tells each file and each failure as it comes. What failed can be
 * run again alone: a file that passes then is not counted as failed, but told as flaky.
 */
import { relative, resolve } from "node:path";
import type { Searched } from "../search/folder.ts";
import { sum as sumOfSearches } from "../search/record.ts";
import type { Counts, StageRecord, TestRecord } from "./records.ts";
import { seconds, type FileTime, type FlakyFile, type StageResult } from "./result.ts";
import type { Stage } from "./table.ts";
import type { TestProcessEnd } from "./test-process.ts";
import type { Voice } from "./voice.ts";

export interface Told {
  readonly root: string;
  readonly stage: Pick<Stage, "title" | "processes">;
}

interface Failure {
  /** Undefined when the process as a whole failed and no file can be blamed. */
  readonly file: string | undefined;
  readonly text: string;
}

/** One process of the test runner, when it has ended. */
interface Ended {
  readonly times: readonly FileTime[];
  readonly counts: Counts;
  readonly failures: readonly Failure[];
  readonly searched: Searched;
}

const NO_TESTS: Counts = { tests: 0, passed: 0, failed: 0, cancelled: 0, skipped: 0, todo: 0 };

/** One process of the test runner while it runs: what it says is told by its own voice. */
class ProcessCounts {
  readonly #reported: Told & { readonly voice: Voice };
  readonly #files: readonly string[];
  readonly #ended: (ended: Ended) => void;
  readonly #failures: Failure[] = [];
  readonly #times: FileTime[] = [];
  #file: { name: string; tests: number; failed: number; ms: number } | undefined;

  constructor(
    reported: Told & { readonly voice: Voice },
    files: readonly string[],
    ended: (ended: Ended) => void,
  ) {
    this.#reported = reported;
    this.#files = files;
    this.#ended = ended;
  }

  take(record: StageRecord): void {
    if (record.kind !== "test") return;
    const { root, voice, stage } = this.#reported;
    const file = relative(root, record.file);
    if (this.#file?.name !== file) {
      this.#tellFile();
      this.#file = { name: file, tests: 0, failed: 0, ms: 0 };
    }
    if (record.path.length === 1) this.#file.ms += record.ms;
    if (record.suite && (record.ok || record.error?.includes("subtest"))) return;
    this.#file.tests += 1;
    const name = record.path.join(" › ");
    if (!record.ok && !record.todo) {
      this.#file.failed += 1;
      const text = `${file}:${record.line}: ${name}\n${indent(beginning(record.error ?? ""))}`;
      this.#failures.push({ file, text });
      voice.say(`  ✖ ${name} (${file}:${record.line})\n${indent(record.error ?? "")}`);
    } else if (stage.processes === "apart") {
      voice.say(`    ${mark(record)} ${name} (${seconds(record.ms)})`);
    }
  }

  /** The process has ended: its own counts are the truth, its faults count as one failed test each. */
  end({ counts = NO_TESTS, faults, output, searched }: TestProcessEnd, ms: number): void {
    const { voice, root } = this.#reported;
    // Of one file alone a fault of the process is that file's, and so is the time that its servers took to start.
    const [only = ""] = this.#files;
    const file = this.#files.length === 1 ? relative(root, resolve(root, only)) : undefined;
    if (this.#file && file !== undefined) this.#file.ms = ms;
    this.#tellFile();
    const name = file ?? `${this.#files.length} files`;
    for (const fault of faults) {
      this.#failures.push({ file, text: `${name}: ${fault}` });
      voice.say(`  ✖ ${name}: ${fault}`);
    }
    const failed = counts.failed + counts.cancelled + faults.length;
    if (failed > 0 && this.#failures.length === 0)
      this.#failures.push({ file, text: `${name}: ${failed} failed` });
    if (failed > 0 && output.trim() !== "") voice.say(`  what ${name} printed:\n${indent(output.trimEnd())}`);
    this.#ended({
      times: this.#times,
      counts: { ...counts, tests: counts.tests + faults.length, failed, cancelled: 0 },
      failures: this.#failures,
      searched,
    });
  }

  #tellFile(): void {
    if (!this.#file) return;
    const { name, tests, failed, ms } = this.#file;
    const count = failed > 0 ? `${failed} of ${tests} failed` : `${tests}`;
    this.#reported.voice.say(`  ${failed > 0 ? "✖" : "✔"} ${name} (${count}, ${seconds(ms)})`);
    this.#times.push({ file: name, ms });
    this.#file = undefined;
  }
}

/** A stage: what its processes came to. */
export class StageCounts {
  readonly #reported: Told;
  readonly #ended: Ended[] = [];
  readonly #flaky: FlakyFile[] = [];

  constructor(reported: Told) {
    this.#reported = reported;
  }

  /** Another process begins. */
  begin(files: readonly string[], voice: Voice): ProcessCounts {
    return new ProcessCounts({ ...this.#reported, voice }, files, (ended) => void this.#ended.push(ended));
  }

  /** The files that failed; undefined when a failure cannot be traced to a file. */
  get failedFiles(): readonly string[] | undefined {
    const files = this.#ended.flatMap(({ failures }) => failures.map(({ file }) => file));
    return files.includes(undefined) ? undefined : [...new Set(files as string[])];
  }

  /** These files failed, and passed when they were run again alone. */
  passedAgain(files: ReadonlySet<string>): void {
    for (const [index, ended] of this.#ended.entries()) {
      const { counts, failures } = ended;
      const left = failures.filter(({ file }) => file === undefined || !files.has(file));
      if (left.length === failures.length) continue;
      for (const { file = "", text } of failures) if (files.has(file)) this.#flaky.push({ file, text });
      // Counted as passed only when nothing of its process is left that failed: counts do not tell files apart.
      const failed = left.length === 0 ? 0 : counts.failed;
      const passed = counts.passed + counts.failed - failed;
      this.#ended[index] = { ...ended, counts: { ...counts, passed, failed }, failures: left };
    }
  }

  result(ms: number): StageResult {
    const sum = (of: (counts: Counts) => number) =>
      this.#ended.reduce((total, { counts }) => total + of(counts), 0);
    const { files, bytes } = sumOfSearches(this.#ended.map(({ searched }) => searched));
    return {
      title: this.#reported.stage.title,
      searched: { files, bytes },
      tests: sum(({ tests }) => tests),
      passed: sum(({ passed }) => passed),
      failed: sum(({ failed }) => failed),
      skipped: sum(({ skipped }) => skipped),
      todo: sum(({ todo }) => todo),
      ms,
      failures: this.#ended.flatMap(({ failures }) => failures.map(({ text }) => text)),
      flaky: this.#flaky,
      files: this.#ended.flatMap(({ times }) => times),
    };
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
