/**
 * `--guided`: threads that search on their own, their findings put together in the order of the threads, so that the
 * same session seed, number of runs and number of threads tell the same. What fails is kept in a file.
 */
import { tmpdir } from "node:os";
import path from "node:path";
import { Worker } from "node:worker_threads";
import { writeKept } from "../kept-file.ts";
import type { Progress } from "../engine/progress.ts";
import type { Searched, Outcome } from "./search.ts";
import type { GuidedInput, GuidedReport } from "./worker.ts";

interface Guided extends GuidedInput {
  readonly threads: number;
  /** Where schedules that fail are written. */
  readonly keep: string | undefined;
}

export async function guided(
  input: Guided,
  progress: Progress,
  say: (line: string) => void,
): Promise<number> {
  const { what, seed, runs, threads } = input;
  const shares = Array.from({ length: threads }, (_, index) => ({
    what,
    // Far enough apart that no two sessions share a thread's.
    seed: seed + index * 0x10001,
    runs: Math.floor(runs / threads) + (index < runs % threads ? 1 : 0),
  }));
  const found = await Promise.all(shares.map((share) => searchIn(share, progress)));
  const plain = joined(found.map((one) => one.plain));
  const mine = joined(found.map((one) => one.guided));
  say(tell("guided", mine));
  say(tell("plain", plain));
  const ratio = mine.features.size / Math.max(1, plain.features.size);
  const only = [...mine.features].filter((feature) => !plain.features.has(feature)).length;
  const kept = found.reduce((sum, { corpus }) => sum + corpus, 0);
  say(`guided/plain ${ratio.toFixed(2)}; ${only} only by guidance; ${kept} schedules kept for others`);
  const failed = [...mine.failed, ...plain.failed];
  const dir = input.keep ?? path.join(tmpdir(), "quorate-sim");
  for (const [index, { found: message, schedule }] of failed.entries()) {
    const file = path.join(dir, `${what}-${seed}-${runs}-${threads}-${index + 1}.json`);
    await writeKept(file, { kind: what, found: message, schedule });
    say(`${message}\n    npm run sim -- --replay ${file} --trace   (or --shrink)`);
  }
  say(`${mine.runs + plain.runs} runs, ${failed.length} violations`);
  return failed.length === 0 ? 0 : 1;
}

interface Sum {
  readonly runs: number;
  readonly events: number;
  readonly features: ReadonlySet<string>;
  readonly failed: Outcome<unknown>["failed"];
}

function joined(outcomes: readonly Outcome<unknown>[]): Sum {
  const sum = (pick: (outcome: Outcome<unknown>) => number) =>
    outcomes.reduce((total, one) => total + pick(one), 0);
  return {
    runs: sum(({ runs }) => runs),
    events: sum(({ events }) => events),
    features: new Set(outcomes.flatMap(({ features }) => features)),
    failed: outcomes.flatMap(({ failed }) => failed),
  };
}

function tell(how: string, { runs, events, features }: Sum): string {
  return `${how.padEnd(7)} ${features.size} features in ${runs} runs, ${events} events`;
}

function searchIn(workerData: GuidedInput, progress: Progress): Promise<Searched<unknown>> {
  return new Promise((resolve, reject) => {
    const worker = new Worker(new URL("worker.ts", import.meta.url), { workerData });
    let found: Searched<unknown> | undefined;
    worker.on("message", (report: GuidedReport) => {
      if ("ran" in report) progress.add(report.ran);
      else found = report.searched;
    });
    worker.once("error", reject);
    worker.once("exit", (code) =>
      found ? resolve(found) : reject(new Error(`a thread ended with code ${code}`)),
    );
  });
}
