/** Enumerates the scenarios that it is handed, one at a time, in a thread of its own. */
import { parentPort } from "node:worker_threads";
import { enumerate, scenarios, type Enumerated } from "./enumerate.ts";
import { enumerateOnMachine } from "../machine/enumerate.ts";
import { enumerateOperator, operatorScenarios } from "../operator/enumerate.ts";
import type { Simulated } from "../worker.ts";

export interface EnumerateRequest {
  readonly what: Simulated;
  readonly scenario: string;
  /** Each n-th effect only. */
  readonly every: number;
  readonly fault: string;
  readonly stop: boolean;
}

parentPort?.on("message", (request: EnumerateRequest) => {
  void enumerated(request).then((found) => parentPort?.postMessage(found));
});

async function enumerated({ what, scenario, every, stop, fault }: EnumerateRequest): Promise<Enumerated> {
  if (what === "operator")
    return await enumerateOperator(named(operatorScenarios, scenario), 1, every, { stop, fault });
  const found = named(scenarios, scenario);
  return what === "machine" ? await enumerateOnMachine(found, 1, every) : enumerate(found, 1, every);
}

function named<T extends { readonly name: string }>(all: readonly T[], name: string): T {
  const found = all.find((one) => one.name === name);
  if (!found) throw new RangeError(`there is no scenario ${name}`);
  return found;
}
