/**
 * Runs one stage: prepares it, runs its files together or apart, and tells what happens as it happens. A file that
 * failed is run once more alone at the end: when it passes then, it is told as flaky and does not fail the run.
 */
import { seconds, type StageResult } from "./result.ts";
import type { Stage } from "./table.ts";
import { Tally } from "./tally.ts";
import { runTestProcess } from "./test-process.ts";
import type { Voice } from "./voice.ts";

export interface StageRun {
  readonly root: string;
  readonly stage: Stage;
  readonly files: readonly string[];
  readonly namePattern?: string;
  readonly signal: AbortSignal;
  readonly voice: Voice;
}

/** More than this is no accident: the change is broken, and a second look would only cost time. */
const MOST_AGAIN = 4;

/** A stage whose files have run. */
interface Finished {
  readonly run: StageRun;
  readonly tally: Tally;
  readonly ms: number;
  readonly couldNotRun?: string;
}

/** One stage, or several at the same time: then each line says whose it is. What they need is made one by one. */
export async function runStages(runs: readonly StageRun[]): Promise<StageResult[]> {
  const prepared: (() => Promise<Finished>)[] = [];
  for (const run of runs) prepared.push(await prepareStage(run));
  const finished = await Promise.all(prepared.map((runAll) => runAll()));
  const results: StageResult[] = [];
  // Alone: after all of them.
  for (const { run, tally, ms, couldNotRun } of finished) {
    const againMs = await runAgain(run, tally);
    const result = tally.result(ms + againMs);
    results.push(couldNotRun === undefined ? result : { ...result, couldNotRun });
  }
  return results;
}

async function prepareStage(run: StageRun): Promise<() => Promise<Finished>> {
  const { stage, voice } = run;
  const started = performance.now();
  voice.say(`▶ ${stage.title}`);
  const couldNotRun = await prepare(run);
  if (couldNotRun !== undefined) {
    voice.say(`  could not run: ${couldNotRun}`);
    const ms = performance.now() - started;
    return () => Promise.resolve({ run, tally: new Tally(run), ms, couldNotRun });
  }
  const preparedMs = performance.now() - started;
  return () => runFiles(run, preparedMs);
}

async function runFiles(run: StageRun, preparedMs: number): Promise<Finished> {
  const started = performance.now() - preparedMs;
  const tally = new Tally(run);
  const groups = run.stage.processes === "together" ? [run.files] : run.files.map((file) => [file]);
  for (const files of groups) {
    if (run.signal.aborted) break;
    await runGroup(run, files, tally);
  }
  return { run, tally, ms: performance.now() - started };
}

async function runGroup(run: StageRun, files: readonly string[], tally: Tally): Promise<void> {
  const { stage, voice, root, namePattern, signal } = run;
  // With every case, where a sample is taken otherwise, files take many times as long.
  const times = process.env["QUORATE_ALL"] === "1" ? 8 : 1;
  const [testLimitMs, processLimitMs] = [stage.testLimitMs * times, stage.processLimitMs * times];
  voice.working(files.length === 1 ? (files[0] ?? "") : `${files.length} files`);
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
  tally.end(end, files);
}

/** Returns how long it took. */
async function runAgain(run: StageRun, tally: Tally): Promise<number> {
  const { voice } = run;
  const failed = tally.failedFiles;
  if (failed?.length === 0 || run.signal.aborted) return 0;
  if (failed === undefined || failed.length > MOST_AGAIN) {
    const why = failed ? `${failed.length} files failed` : "a failure cannot be traced to a file";
    voice.say(`  nothing is run again: ${why}`);
    return 0;
  }
  const started = performance.now();
  const passed = new Set<string>();
  for (const file of failed) {
    if (run.signal.aborted) break;
    voice.say(`▶ again, alone: ${file}`);
    const again = new Tally(run);
    await runGroup(run, [file], again);
    const { tests, failed: failedAgain, skipped } = again.result(0);
    if (failedAgain === 0 && tests > skipped) passed.add(file);
  }
  tally.passedAgain(passed);
  return performance.now() - started;
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
