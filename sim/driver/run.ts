/**
 * Drives one run: a life is written as what is done to the world, with a wait after each deed; a broken invariant ends
 * it and is its result. The same for every world, be its time moved by calls or by promises.
 */
import { Violation } from "../oracles/oracle.ts";
import type { ProductRun } from "./product-run.ts";

/** A world in which a run is lived. */
export interface World {
  pass(ms: number): void | Promise<void>;
  /** Not to come to rest within that time is a violation. */
  settle(limitMs?: number): void | Promise<void>;
  /** The same, while faults last that may well keep it from getting there. */
  comesToRest?(limitMs: number): boolean | Promise<boolean>;
}

export type Wait =
  | { readonly pass: number }
  | { readonly rest: number }
  | { readonly settle: number | undefined };

export type Life = Iterable<Wait> | AsyncIterable<Wait>;

/** What is told of a run when it is over. */
type Outcome = Omit<ProductRun, "seed" | "violation">;

export async function run(
  seed: number,
  world: World,
  life: Life,
  outcome: (violation: Violation | undefined) => Outcome,
): Promise<ProductRun> {
  const violation = await live(world, life);
  return { seed, ...outcome(violation), violation };
}

async function live(world: World, life: Life): Promise<Violation | undefined> {
  try {
    for await (const wait of life) {
      if ("pass" in wait) await world.pass(wait.pass);
      else if ("rest" in wait) await world.comesToRest?.(wait.rest);
      else await world.settle(wait.settle);
    }
    return undefined;
  } catch (error) {
    if (!(error instanceof Violation)) throw error;
    return error;
  }
}
