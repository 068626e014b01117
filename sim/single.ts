/** The modes that run in one thread: a single seed, a schedule from a file, and the enumerations. */
import process from "node:process";
import { enumerate, scenarios, type Enumerated } from "./enumerate.ts";
import { readKept, writeKept } from "./kept-file.ts";
import { replay, shrinkKept } from "./kept.ts";
import { enumerateOnMachine } from "./machine/enumerate.ts";
import { machineRun } from "./machine/random-run.ts";
import { enumerateOperator, operatorScenarios } from "./operator/enumerate.ts";
import { operatorRun } from "./operator/random-run.ts";
import { keepShrunk } from "./operator/shrink.ts";
import type { ProductRun } from "./product-run.ts";
import { Progress } from "./progress.ts";
import { randomRun } from "./random-run.ts";
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
}

export async function one(seed: number, how: How): Promise<number> {
  const { what, say, shrink } = how;
  const progress = new Progress("runs");
  const result = await { rules: randomRun, machine: machineRun, operator: operatorRun }[what](seed);
  progress.add(result);
  tellRun(`seed ${seed}`, result, progress, how);
  if (result.violation && shrink && what === "operator") say(await keepShrunk(seed, say));
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

export async function all(every: number, how: How): Promise<number> {
  const { what, say } = how;
  const progress = new Progress("plans");
  let failed = 0;
  let plans = 0;
  const names = (what === "operator" ? operatorScenarios : scenarios).map(({ name }) => name);
  for (const name of names.filter((one) => one.includes(how.scenario))) {
    if (how.stop && failed > 0) break;
    const found = await enumerated(name, every, how);
    say(`${name}: ${found.effects} effects, ${found.plans} plans, ${found.failures.length} failures`);
    for (const { plan, message } of found.failures) say(`    ${plan}: ${message}`);
    failed += found.failures.length;
    plans += found.plans;
    progress.add({ runs: found.plans, events: found.events, passes: found.passes });
  }
  say(`${plans} plans, ${failed === 0 ? "all end as the run without a fault" : `${failed} fail`}`);
  say(progress.total());
  return failed === 0 ? 0 : 1;
}

async function enumerated(name: string, every: number, { what, stop, fault }: How): Promise<Enumerated> {
  if (what === "operator") {
    const scenario = operatorScenarios.find((one) => one.name === name);
    if (scenario) return await enumerateOperator(scenario, 1, every, { stop, fault });
  }
  const scenario = scenarios.find((one) => one.name === name);
  if (!scenario) throw new RangeError(`there is no scenario ${name}`);
  return what === "machine" ? await enumerateOnMachine(scenario, 1, every) : enumerate(scenario, 1, every);
}
