/** Enumerates the scenarios that it is handed, one at a time, in a thread of its own. */
import { parentPort } from "node:worker_threads";
import { machineWorld } from "../machine/enumerate.ts";
import { operatorWorld } from "../operator/enumerate.ts";
import { rulesWorld } from "../rules/enumerate.ts";
import type { Simulated } from "../worker.ts";
import { enumerate, type Enumerated, type World } from "./enumerate.ts";

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

async function enumerated(request: EnumerateRequest): Promise<Enumerated> {
  if (request.what === "operator") return await inWorld(operatorWorld, request);
  return await inWorld(request.what === "machine" ? machineWorld : rulesWorld, request);
}

async function inWorld<Scenario extends { readonly name: string }, Plan>(
  world: World<Scenario, Plan>,
  { scenario, every, stop, fault }: EnumerateRequest,
): Promise<Enumerated> {
  const found = world.scenarios.find(({ name }) => name === scenario);
  if (!found) throw new RangeError(`there is no scenario ${scenario}`);
  return await enumerate(world, found, 1, every, { stop, fault });
}
