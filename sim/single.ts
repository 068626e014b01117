/** A single seed, a schedule from a file, and the enumerations. */
import { once } from "node:events";
import process from "node:process";
import { Worker } from "node:worker_threads";
import type { EnumerateRequest } from "./driver/enumerate-worker.ts";
import type { Enumerated } from "./driver/enumerate.ts";
import { readKept, writeKept } from "./kept-file.ts";
import { replay, shrinkKept } from "./kept.ts";
import { machineRun } from "./machine/random-run.ts";
import { operatorWorld } from "./operator/enumerate.ts";
import { operatorRun } from "./operator/random-run.ts";
import { scheduleOf } from "./operator/schedule.ts";
import { keepShrunk } from "./operator/shrink.ts";
import type { ProductRun } from "./driver/product-run.ts";
import { Progress } from "./engine/progress.ts";
import { scenarios } from "./rules/enumerate.ts";
import { randomRun } from "./rules/random-run.ts";
import type { Simulated } from "./worker.ts";

interface How {
  readonly what: Simulated;
  readonly say: (line: string) => void;
  readonly trace: boolean;
  readonly shrink: boolean;
  /** Parts of names: only these. */
  readonly scenario: string;
  readonly fault: string;
  /** The first failure ends it. */
  readonly stop: boolean;
  readonly denials: readonly string[] | undefined;
}

export async function one(seed: number, how: How): Promise<number> {
  const { what, say, shrink } = how;
  const progress = new Progress("runs");
  const result = await { rules: randomRun, machine: machineRun, operator: operatorRun }[what](
    seed,
    how.denials,
  );
  progress.add(result);
  tellRun(`seed ${seed}`, result, progress, how);
  if (result.violation && shrink && what === "operator")
    say(await keepShrunk(scheduleOf(seed, how.denials), say));
  return result.violation ? 1 : 0;
}

function tellRun(which: string, result: ProductRun, progress: Progress, { trace, say }: How): void {
  if (trace) for (const line of result.trace) say(line);
  say(
    `${which}: ${result.violation?.message ?? result.end} (${result.steps} steps, ${result.passes} passes)`,
  );
  process.stderr.write(`${progress.total()}\n`);
}

export async function again(file: string, how: How): Promise<number> {
  const progress = new Progress("runs");
  const kept = await readKept(file);
  const result = await replay(kept);
  progress.add(result);
  tellRun(file, result, progress, how);
  const small = result.violation && how.shrink ? await shrinkKept(kept) : undefined;
  if (small) {
    await writeKept(file, small);
    how.say(`made smaller in ${file}`);
  }
  return result.violation ? 1 : 0;
}

/** Each thread takes the next scenario when it has done with one. */
export async function all(every: number, threads: number, how: How): Promise<number> {
  const { what, say, stop, fault } = how;
  const progress = new Progress("plans");
  let failed = 0;
  let plans = 0;
  const names = (what === "operator" ? operatorWorld.scenarios : scenarios).map(({ name }) => name);
  const waiting = names.filter((one) => one.includes(how.scenario));
  const work = async () => {
    const worker = new Worker(new URL("./driver/enumerate-worker.ts", import.meta.url));
    for (let scenario = waiting.shift(); scenario !== undefined; scenario = waiting.shift()) {
      if (stop && failed > 0) break;
      const request: EnumerateRequest = { what, scenario, every, fault, stop };
      worker.postMessage(request);
      const [found] = (await once(worker, "message")) as [Enumerated];
      say(`${scenario}: ${found.effects} effects, ${found.plans} plans, ${found.failures.length} failures`);
      for (const { plan, message } of found.failures) say(`    ${plan}: ${message}`);
      failed += found.failures.length;
      plans += found.plans;
      progress.add({ runs: found.plans, events: found.events, passes: found.passes });
    }
    await worker.terminate();
  };
  await Promise.all(Array.from({ length: Math.min(threads, waiting.length) }, work));
  say(`${plans} plans, ${failed === 0 ? "all end as the run without a fault" : `${failed} fail`}`);
  say(progress.total(threads));
  return failed === 0 ? 0 : 1;
}
