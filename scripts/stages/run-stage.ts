/**
 * Runs stages beside each other: prepares them, runs their files together or apart, and tells what happens as it
 * happens. A file that failed is run once more alone at the end: when it passes then, it is told as flaky and does not
 * fail the run.
 */
import { availableParallelism } from "node:os";
import { roomByLoad, runInLanes, type Job, type Lanes } from "./lanes.ts";
import { longestFirst, processesOf, type Planned } from "./order.ts";
import { seconds, type StageResult } from "./result.ts";
import type { Stage } from "./table.ts";
import { StageCounts } from "./counts.ts";
import { runTestProcess } from "./test-process.ts";
import { heldBack, voicesFor, type Voice } from "./voice.ts";

export interface StageRun {
  readonly root: string;
  readonly stage: Stage;
  readonly files: readonly string[];
  readonly namePattern?: string;
  readonly signal: AbortSignal;
}

export interface Batch {
  readonly runs: readonly StageRun[];
  readonly voice: Voice;
  /** What else is done meanwhile; begun first. */
  readonly beside?: readonly {
    readonly speaker: string;
    readonly run: (voice: Voice) => Promise<StageResult>;
  }[];
  /** Nothing further is begun after the first failure. */
  readonly bail?: boolean;
  /** As many files with servers at once, whatever the load. */
  readonly lanes?: number;
}

/** More than this is no accident: the change is broken, and a second look would only cost time. */
const MOST_AGAIN = 10;
const CORES = availableParallelism();
/** Tests without servers compute all the time. */
const COMPUTING: Lanes = { least: CORES, most: CORES };
/** With servers they mostly wait. Two at once is what a slow or busy machine gets, too. */
const WAITING = { least: 2, most: Math.max(2, Math.min(8, 3 * CORES)) };

/** A stage on its way. */
interface Begun {
  readonly run: StageRun;
  readonly counts: StageCounts;
  readonly preparedMs: number;
  readonly couldNotRun?: string;
  /** When its first process began, and when its last one ended. */
  from?: number;
  to?: number;
}

/** All of them at the same time, as far as the machine carries them. What they need is made one by one before. */
export async function runStages({ runs, voice, beside = [], bail, lanes }: Batch): Promise<StageResult[]> {
  const begun: Begun[] = [];
  for (const run of runs) begun.push(await prepareStage(run, voice));
  const results: StageResult[] = [];
  const work = [
    ...beside.map(({ speaker, run }) => ({
      speaker,
      needs: undefined,
      run: async (_lane: number, output: Voice) => void results.push(await run(output)),
    })),
    ...longestFirst(begun.flatMap(planned)).map(({ of, files, needs }) => ({
      speaker: of.run.stage.id,
      needs,
      run: (lane: number, output: Voice) => runProcess(of, files, lane, output),
    })),
  ];
  const voices = voicesFor(
    voice,
    work.map(({ speaker }) => speaker),
  );
  const jobs = work.map(({ needs, run }, index): Job => {
    const own = voices[index] ?? voice;
    const whole = (lane: number) => asAWhole(own, (held) => run(lane, held));
    return { needs, run: work.length === 1 ? (lane) => run(lane, own) : whole };
  });
  const hasFailed = () =>
    [...results, ...begun.map(({ counts }) => counts.result(0))].some(({ failed }) => failed > 0);
  const goOn = () => !runs.some(({ signal }) => signal.aborted) && !(bail && hasFailed());
  const servers = runs.some(({ stage }) => stage.processes === "apart");
  const asked = lanes === undefined ? WAITING : { least: lanes, most: lanes };
  await runInLanes(jobs, { ...(servers ? { ...asked, hasRoom: roomByLoad() } : COMPUTING), goOn });

  // Alone: after all of them.
  for (const one of begun) {
    const againMs = await runAgain(one, voice);
    const { counts, couldNotRun, preparedMs, from = 0, to = 0 } = one;
    const result = counts.result(preparedMs + (to - from) + againMs);
    results.push(couldNotRun === undefined ? result : { ...result, couldNotRun });
  }
  return results;
}

function planned(of: Begun): (Planned & { readonly of: Begun })[] {
  const { stage, files } = of.run;
  return of.couldNotRun === undefined ? processesOf(stage, files).map((one) => ({ ...one, of })) : [];
}

/** What is said is reported when the work has ended, so that it stands together. */
async function asAWhole(voice: Voice, work: (voice: Voice) => Promise<void>): Promise<void> {
  const { held, release } = heldBack(voice);
  try {
    await work(held);
  } finally {
    release();
  }
}

async function prepareStage(run: StageRun, voice: Voice): Promise<Begun> {
  const started = performance.now();
  voice.say(`▶ ${run.stage.title}`);
  const couldNotRun = await prepare(run, voice);
  if (couldNotRun !== undefined) voice.say(`  could not run: ${couldNotRun}`);
  const begun = { run, counts: new StageCounts(run), preparedMs: performance.now() - started };
  return couldNotRun === undefined ? begun : { ...begun, couldNotRun };
}

async function runProcess(of: Begun, files: readonly string[], lane: number, voice: Voice): Promise<void> {
  of.from ??= performance.now();
  await runFiles(of.run, of.counts, files, lane, voice);
  of.to = performance.now();
}

async function runFiles(
  { stage, root, namePattern, signal }: StageRun,
  counts: StageCounts,
  files: readonly string[],
  lane: number,
  voice: Voice,
): Promise<void> {
  voice.working(files.length === 1 ? (files[0] ?? "") : `${files.length} files`);
  const own = counts.begin(files, voice);
  const started = performance.now();
  const end = await runTestProcess({
    root,
    files,
    testLimitMs: stage.testLimitMs,
    processLimitMs: stage.processLimitMs,
    lane,
    signal,
    ...(namePattern === undefined ? {} : { namePattern }),
    onRecord: (record) => own.take(record),
  });
  voice.idle();
  own.end(end, performance.now() - started);
}

/** Returns how long it took. */
async function runAgain({ run, counts }: Begun, voice: Voice): Promise<number> {
  const failed = counts.failedFiles;
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
    const again = new StageCounts(run);
    await runFiles(run, again, [file], 0, voice);
    const { tests, failed: failedAgain, skipped } = again.result(0);
    if (failedAgain === 0 && tests > skipped) passed.add(file);
  }
  counts.passedAgain(passed);
  return performance.now() - started;
}

async function prepare({ stage, signal }: StageRun, voice: Voice): Promise<string | undefined> {
  if (!stage.prepare) return undefined;
  const started = performance.now();
  try {
    const output = (text: string) => voice.progress(`${text} (${seconds(performance.now() - started)})`);
    return await stage.prepare(output, signal);
  } catch (error) {
    return `preparing failed: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}`;
  } finally {
    voice.idle();
  }
}
