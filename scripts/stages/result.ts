/**
 * What a stage came to, and how the whole run is summed up: a table for people, then the closing lines of
 * node's own runner for programs.
 */

export interface FlakyFile {
  readonly file: string;
  /** Name, place and reason of the failure. */
  readonly text: string;
}

export interface FileTime {
  readonly file: string;
  readonly ms: number;
}

export interface StageResult {
  readonly title: string;
  readonly tests: number;
  readonly passed: number;
  readonly failed: number;
  readonly skipped: number;
  readonly todo: number;
  readonly ms: number;
  /** Name, place and reason of each failure. */
  readonly failures: readonly string[];
  /** Failed, and passed when their file was run again alone: no failure, but a bug to mend. */
  readonly flaky: readonly FlakyFile[];
  /** How long each file took: its tests, and where it has a process of its own also what they started. */
  readonly files?: readonly FileTime[];
  /** What its processes wrote that was searched for keys and passwords; what was found is among the failures. */
  readonly searched?: { readonly files: number; readonly bytes: number };
  /** Why the stage did not run, and what to do about it. */
  readonly couldNotRun?: string;
}

/** Skipped tests prove nothing: a stage that executed none has failed. */
export function ranNothing(result: StageResult): boolean {
  return result.couldNotRun === undefined && result.tests - result.skipped <= 0;
}

/** On a developer's machine a stage may lack its tools; in CI it may not. */
export function exitCodeOf(results: readonly StageResult[], ci: boolean): number {
  if (results.length === 0) return 1;
  const failed = results.some((one) => one.failed > 0 || ranNothing(one));
  const missing = results.some((one) => one.couldNotRun !== undefined);
  return failed || (ci && missing) ? 1 : 0;
}

export function summary(results: readonly StageResult[], ms: number): string {
  const heading = ["stage", "tests", "pass", "fail", "skipped", "time"];
  const rows = results.map((one) =>
    one.couldNotRun === undefined
      ? [one.title, one.tests, one.passed, one.failed, one.skipped, seconds(one.ms)].map(String)
      : [one.title, "-", "-", "-", "-", seconds(one.ms)],
  );
  const widths = heading.map((title, column) =>
    Math.max(title.length, ...rows.map((row) => row[column]?.length ?? 0)),
  );
  const lines = [heading, ...rows].map((row) =>
    row
      .map((cell, column) =>
        column === 0 ? cell.padEnd(widths[0] ?? 0) : cell.padStart(widths[column] ?? 0),
      )
      .join("  "),
  );
  for (const one of results) {
    if (one.couldNotRun !== undefined) lines.push(`${one.title} could not run: ${one.couldNotRun}`);
    if (one.flaky.length > 0)
      lines.push(
        `${one.title} is flaky: ${flakyFiles([one]).join(", ")} failed, and passed when run again alone`,
      );
    if (ranNothing(one)) lines.push(`${one.title} executed no test, which counts as a failure`);
  }
  lines.push(...slowest(results), ...searched(results));
  const flaky = flakyFiles(results);
  const last = flaky.length > 0 ? [`flaky: ${flaky.join(", ")}`] : [];
  return [...lines, "", ...closingLines(results, ms), ...last].join("\n");
}

/** Where to look when a whole run takes longer than people wait for it. */
const SLOWEST = 8;

function slowest(results: readonly StageResult[]): string[] {
  const files = results.flatMap((one) => one.files ?? []);
  if (files.length <= SLOWEST) return [];
  const named = files
    .toSorted((a, b) => b.ms - a.ms)
    .slice(0, SLOWEST)
    .map(({ file, ms }) => `${file} ${seconds(ms)}`);
  return [`slowest: ${named.join(", ")}`];
}

/** That the search took place, and how much it saw. */
function searched(results: readonly StageResult[]): string[] {
  const seen = results.flatMap((one) => one.searched ?? []);
  if (seen.length === 0) return [];
  const files = seen.reduce((total, one) => total + one.files, 0);
  const mebibytes = seen.reduce((total, one) => total + one.bytes, 0) / 2 ** 20;
  return [`searched for keys and passwords: ${files} files and objects, ${mebibytes.toFixed(0)} MiB`];
}

function flakyFiles(results: readonly StageResult[]): string[] {
  return [...new Set(results.flatMap(({ flaky }) => flaky.map(({ file }) => file)))];
}

/** The form in which node's test runner ends, summed over all stages. */
function closingLines(results: readonly StageResult[], ms: number): string[] {
  const sum = (of: (one: StageResult) => number) => results.reduce((total, one) => total + of(one), 0);
  const numbers: [string, number][] = [
    ["tests", sum((one) => one.tests)],
    ["suites", 0],
    ["pass", sum((one) => one.passed)],
    ["fail", sum((one) => one.failed)],
    ["cancelled", 0],
    ["skipped", sum((one) => one.skipped)],
    ["todo", sum((one) => one.todo)],
    ["duration_ms", Math.round(ms)],
  ];
  return numbers.map(([name, value]) => `ℹ ${name} ${value}`);
}

export function seconds(ms: number): string {
  if (ms < 100) return `${Math.round(ms)} ms`;
  if (ms < 100_000) return `${(ms / 1000).toFixed(1)} s`;
  const total = Math.round(ms / 1000);
  return `${Math.floor(total / 60)} min ${String(total % 60).padStart(2, "0")} s`;
}
